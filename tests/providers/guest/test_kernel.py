"""The kernel calls whose effect the filter would hide in a whole sandbox."""

import subprocess
import sys

KEYRING = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
from omoi_os.providers.guest import kernel
libc = ctypes.CDLL(None, use_errno=True)
add, ask = {'x86_64': (248, 249), 'aarch64': (217, 218)}[os.uname().machine]
kernel.join_new_session_keyring()
libc.syscall(ctypes.c_long(add), b'user', b'omoi-canary', b'secret', ctypes.c_size_t(6), ctypes.c_int(-3))
def finds(): return libc.syscall(ctypes.c_long(ask), b'user', b'omoi-canary', None, ctypes.c_int(0)) > 0
before = finds()
kernel.join_new_session_keyring()
print(before, finds())
"""


def test_a_new_session_keyring_does_not_show_the_starters_keys() -> None:
    source = next(path for path in sys.path if path.endswith("src"))
    run = subprocess.run([sys.executable, "-I", "-S", "-c", KEYRING, source], capture_output=True, check=False)

    assert run.stdout == b"True False\n", run.stderr
