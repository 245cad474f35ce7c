"""The workspace as a layer over a prepared checkout, whose files are never changed."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH102, PTH104

import os

from omoi_os.providers.guest import kernel

#: Beside the workspace, out of reach from inside: the written files, and a folder that the kernel needs for them.
UPPER, WORK = "upper", "work"

#: Where the checkout is mounted below the sandbox's folder, as if the sandbox's uid owned it.
LOWER = "lower"

#: Folders of the checkout can be renamed, which only root's overlays allow; inode numbers never change.
_OPTIONS = "redirect_dir=on,index=off,metacopy=off,xino=auto"


def mount_layer(workspace: str, *, tree: str | None, uid: int, is_new: bool) -> None:
    """Mount the layer on the workspace, in the process that becomes bwrap.

    If the kernel or file system refuses, a new workspace stays empty. One that already has a layer is never used
    without its checkout, because all files of the checkout would seem to be deleted: that raises `OSError`.
    """
    files = os.path.dirname(workspace)  # noqa: PTH120
    upper, work = f"{files}/{UPPER}", f"{files}/{WORK}"
    if os.access(upper, os.F_OK):
        if tree is None:
            raise OSError("the prepared checkout under the workspace is gone")
        _mount(workspace, tree=tree, upper=upper, work=work, uid=uid)
    elif is_new and tree is not None:
        for folder in (upper, work):
            os.mkdir(folder)
            os.chmod(folder, 0o755)  # noqa: PTH101, S103
            os.chown(folder, uid, uid)
        try:
            _mount(workspace, tree=tree, upper=upper, work=work, uid=uid)
        except OSError:
            os.rename(upper, f"{upper}.refused")


def _mount(workspace: str, *, tree: str, upper: str, work: str, uid: int) -> None:
    if not os.access(LOWER, os.F_OK):
        os.mkdir(LOWER)
    kernel.show_as_owned(tree, LOWER, uid=uid)
    # Relative paths: those of the host would be visible inside, and may contain commas.
    options = f"lowerdir={LOWER},upperdir={upper},workdir={work},{_OPTIONS}"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOATIME
    kernel.mount("overlay", workspace, "overlay", flags=flags, options=options)
