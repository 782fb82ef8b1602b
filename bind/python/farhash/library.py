"""Which libfarhash, and where it is.

There is one library for each MPI and one without, and a process can have one of them only. It
is loaded by the first call that needs it:

- ``FARHASH_LIBRARY``, if set, is the file, or its folder;
- else it is libfarhash-openmpi or libfarhash-mpich if ``mpi4py.MPI`` has been imported, by the
  MPI that mpi4py is linked with, and libfarhash if not. It is searched for in this package, where
  a wheel has it, in the ``lib`` folders above it and of this Python, then where the loader
  searches.

The library has threads, and a fork does not have these: it loads the library again when it needs
it, as a copy, since the loader would give back the one that is there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Any, Iterator

from .abi import FUNCTIONS
from .errors import ForkedError, LibraryError, UnsupportedError
from .version import __version__

SONAME_MAJOR = "0"

_lock = threading.Lock()
_loaded: Any = None
_file = ""  # that the library was loaded from, by this process or the one that it is a fork of
_copy = -1  # a file descriptor of a copy that no process here has loaded
_forks = 0  # from the first process to this one


def load() -> Any:
    """The library, which is loaded if it has not been yet."""
    global _loaded, _file
    with _lock:
        if _loaded is None and _file:
            _loaded = _load_copy()
        elif _loaded is None:
            _loaded = _find()
            _file = _file_of(_loaded)
        return _loaded


def prepare_fork() -> None:
    """Makes a copy of the library that all forks of this process share."""
    with contextlib.suppress(OSError):  # the fork tries again, and says why it fails
        with _lock:
            _make_copy()


def _make_copy() -> None:
    global _copy
    if _copy >= 0 or not _file:
        return
    with open(_file, "rb") as file:
        copy = os.memfd_create("libfarhash")
        try:
            while os.sendfile(copy, file.fileno(), None, 1 << 30):
                pass
        except OSError:
            os.close(copy)
            raise
    _copy = copy


def _load_copy() -> Any:
    """The library of a fork."""
    global _copy
    try:
        _make_copy()
        # The loader knows libraries by their paths: each fork of a fork has another.
        place = f"/proc/self/{'./' * _forks}fd/{_copy}"
        library = _verified(ctypes.CDLL(place), _file)
    except OSError as err:
        raise ForkedError(f"farhash: this process is a fork of one that has loaded {_file}, and "
                          f"cannot load a copy of it: {err}. Open tables only after the fork, or "
                          'use the method "spawn" of multiprocessing') from None
    os.close(_copy)
    _copy = -1
    return library


def _file_of(library: Any) -> str:
    """The file that a library was loaded from."""
    address = ctypes.cast(library.farhash_version, ctypes.c_void_p).value or 0
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, *_, path = line.rstrip("\n").split(maxsplit=5)
            begin, end = (int(number, 16) for number in span.split("-"))
            if begin <= address < end:
                return path
    raise LibraryError(f"farhash: {library._name} is not in /proc/self/maps")


def _in_child() -> None:
    global _lock, _loaded, _forks
    _lock, _loaded, _forks = threading.Lock(), None, _forks + 1


os.register_at_fork(after_in_child=_in_child)


def load_for_mpi() -> Any:
    """The library for the MPI of mpi4py, or an error."""
    mpi = _mpi_of_mpi4py()
    if not mpi:
        raise UnsupportedError("farhash: a communicator is needed, and mpi4py.MPI has not even "
                               "been imported")
    library = load()
    has = library.farhash_mpi_library().decode()
    if has != mpi:
        raise UnsupportedError(
            f"farhash: mpi4py uses {mpi}, and {library._name} "
            + (f"is for {has}" if has else "has no MPI")
            + "; import mpi4py.MPI before the first call of farhash, and have FARHASH_LIBRARY "
            "unset or name the library that was built for this MPI")
    return library


def _mpi_of_mpi4py() -> str:
    """The MPI as it calls itself, up to its version, "" if mpi4py.MPI has not been imported."""
    module = sys.modules.get("mpi4py.MPI")
    if module is None:
        return ""
    text: str = module.Get_library_version()
    return text.partition("\n")[0].partition(",")[0].rstrip("\0")


def _variant(mpi: str) -> str:
    if mpi.startswith("Open MPI"):
        return "farhash-openmpi"
    if mpi.startswith("MPICH"):
        return "farhash-mpich"
    return ""


def _find() -> Any:
    mpi = _mpi_of_mpi4py()
    chosen = os.environ.get("FARHASH_LIBRARY", "")
    if chosen and not os.path.isdir(chosen):
        return _open(chosen, [chosen], "FARHASH_LIBRARY names it")
    name, why = "farhash", "the one without MPI, as mpi4py.MPI has not been imported"
    if mpi:
        name, why = _variant(mpi), f"the one for the MPI of mpi4py, {mpi}"
    if mpi and not name:
        raise LibraryError(f"farhash: mpi4py uses {mpi}, for which there is no libfarhash; it is "
                           "built for Open MPI and MPICH; FARHASH_LIBRARY can name a file")
    file = f"lib{name}.so.{SONAME_MAJOR}"
    return _open(file, list(_places(file, chosen)), why)


def _places(file: str, folder: str) -> Iterator[str]:
    if folder:
        yield os.path.join(folder, file)
        return
    package = Path(__file__).resolve().parent
    above = [p for p in package.parents if p.name == "lib"]
    for place in dict.fromkeys([package, *above, Path(sys.prefix, "lib")]):
        if (place / file).exists():
            yield str(place / file)
    yield file


def _open(file: str, places: list[str], why: str) -> Any:
    said = ""
    for place in places:
        try:
            library = ctypes.CDLL(place)  # which lets other threads run during calls
        except OSError as err:
            said = str(err)
            continue
        return _verified(library, place)
    raise LibraryError(
        f"farhash: cannot load {file} ({why}): {said}. `make install PREFIX=/usr/local` in the "
        "sources of farhash builds and installs it; then run ldconfig, or set FARHASH_LIBRARY to "
        "the folder, PREFIX/lib. Each variant needs the headers of its MPI (libopenmpi-dev, "
        "libmpich-dev)")


def _verified(library: ctypes.CDLL, place: str) -> Any:
    try:
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as err:
        raise LibraryError(f"farhash: {place} is no libfarhash of version {__version__}: "
                           f"{err}") from None
    version = getattr(library, "farhash_version")().decode()
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise LibraryError(f"farhash: {place} is version {version}, and this package is "
                           f"{__version__}; install both from the same sources")
    return library
