"""What the system says when a file cannot be written, as one clear sentence."""

import errno

from ckptplan.errors import InputError, printable

_NO_FOLDER = "give a folder on the storage that checkpoints go to"
_SAID: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the file system is full", "give a smaller --size, or another folder"),
    errno.EDQUOT: ("the quota is used up", "give a smaller --size, or another folder"),
    errno.EROFS: ("the file system is read-only", "give a folder that can be written"),
    errno.EACCES: ("it may not be written", "give a folder of your own"),
    errno.EPERM: ("it may not be written", "give a folder of your own"),
    errno.EIO: ("the storage reports an input/output error", "the kernel log (dmesg) says more"),
    errno.EFBIG: ("files may not be as large there", "give a smaller --size, or raise the limit (ulimit -f)"),
    errno.EMFILE: ("too many files are open", "give fewer --writers, or raise the limit (ulimit -n)"),
    errno.ENOENT: ("no such folder", _NO_FOLDER),
    errno.ENOTDIR: ("it is not a folder", _NO_FOLDER),
    errno.ELOOP: ("a link stands where a folder was", "give the folder itself"),
    errno.ESTALE: ("the server has lost the folder", "mount it again"),
    errno.ENOTCONN: ("the file system is not connected", "mount it again"),
    errno.ETIMEDOUT: ("the storage does not answer", "mount it again"),
}


def refusal(error: OSError, folder: str, doing: str = "written to") -> InputError:
    """The error for a folder that cannot be measured."""
    said, hint = _SAID.get(error.errno or 0, (error.strerror or str(error), "give another folder"))
    if not folder:
        return InputError("the name of the folder is empty", hint=_NO_FOLDER)
    return InputError(f"{printable(folder)} cannot be {doing}: {said}", hint=hint)


def no_folder_inside(folder: str) -> InputError:
    """The error for a place where no folder can be made although it is there, as in /proc."""
    return InputError(f"{printable(folder)} cannot be written to: no folder can be made there", hint=_NO_FOLDER)


def no_direct(folder: str) -> InputError:
    """The error for a file system that has no direct I/O."""
    return InputError(
        f"{printable(folder)}: this file system takes no direct I/O of this block size",
        hint="leave --direct out, or give another --block",
    )
