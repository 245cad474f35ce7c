"""The workspace as a layer over a prepared checkout, whose files are never changed: what is written lies above them."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH102, PTH104

import os

from omoi_os.providers.local.supervisor import kernel

#: Beside the workspace, where nothing inside reaches: what is written, and the kernel's own folder for writing it.
UPPER, WORK = "upper", "work"

#: Where the checkout is shown, below the sandbox's folder, as if the sandbox's uid owned it.
LOWER = "lower"

#: Folders of the checkout can be renamed, which only root's overlays allow; every file has one number for life.
_OPTIONS = "redirect_dir=on,index=off,metacopy=off,xino=auto"


def lay(workspace: str, *, tree: str | None, uid: int, anew: bool) -> None:
    """Mount the layer on the workspace, in the process that becomes bwrap.

    A kernel or file system that refuses leaves a new workspace empty. One that was laid over a checkout before is
    never shown without it, for all of the checkout would seem to be deleted: that raises `OSError`.
    """
    files = os.path.dirname(workspace)  # noqa: PTH120
    upper, work = f"{files}/{UPPER}", f"{files}/{WORK}"
    if os.access(upper, os.F_OK):
        if tree is None:
            raise OSError("the prepared checkout below the workspace is gone")
        _mount(workspace, tree=tree, upper=upper, work=work, uid=uid)
    elif anew and tree is not None:
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
    # Paths from the sandbox's folder: those of the host would be seen inside, and may hold commas.
    options = f"lowerdir={LOWER},upperdir={upper},workdir={work},{_OPTIONS}"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOATIME
    kernel.mount("overlay", workspace, "overlay", flags=flags, options=options)
