"""Errors, a class for each code of farhash.h.

Where Python has an error of its own for the same thing, the class is one of these too: a
``TimedOutError`` is a ``TimeoutError``, and so on.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


class FarhashError(Exception):
    """What all errors of farhash are. Its text says what failed and what to do about it."""

    code: ClassVar[int] = -1


class LibraryError(FarhashError, ImportError):
    """libfarhash is missing, cannot be loaded, or is not the right one."""


class ArgumentError(FarhashError, ValueError):
    """A size or a number that makes no sense."""

    code = -2


class ClosedError(FarhashError, ValueError):
    """The table or the job has been closed."""

    code = -3


class FullError(FarhashError):
    """A set or map had no free place for an element; its content stays.

    ``results`` are the results of a batch, None after a single call: of a set as
    ``find_or_put_batch`` returns them, with ``Answer.FULL`` for what found no place; of a map
    the versions, 0 for what found none.
    """

    code = -4
    results: npt.NDArray[Any] | None = None


class OutOfMemoryError(FarhashError, MemoryError):
    """The machine or /dev/shm has not enough."""

    code = -5


class FileError(FarhashError, OSError):
    """A file cannot be opened, read or written."""

    code = -6


class FormatError(FarhashError, ValueError):
    """A file is foreign, truncated or corrupt."""

    code = -7


class RankError(FarhashError):
    """Another rank has failed, died or left."""

    code = -8


class TimedOutError(FarhashError, TimeoutError):
    """Other ranks did not arrive in time."""

    code = -9


class UnsupportedError(FarhashError):
    """Not with this library, MPI or launcher."""

    code = -10


class ForkedError(FarhashError):
    """This process is a fork of a rank, and cannot use its job and tables."""

    code = -11


class InternalError(FarhashError):
    """A bug of farhash."""

    code = -12


EXIT_RANK_LOST = 4
"""The exit code by which farhash run knows that another rank has failed."""


@functools.cache
def exit_when_lost() -> None:
    """Has a program that ends by a RankError exit with EXIT_RANK_LOST."""
    shown = sys.excepthook

    def show(kind: type[BaseException], err: BaseException, trace: Any) -> None:
        shown(kind, err, trace)
        if isinstance(err, RankError) and not hasattr(sys, "ps1"):
            sys.exit(EXIT_RANK_LOST)

    sys.excepthook = show


_classes: dict[int, type[FarhashError]] = {
    c.code: c
    for c in (ArgumentError, ClosedError, FullError, OutOfMemoryError, FileError, FormatError,
              RankError, TimedOutError, UnsupportedError, ForkedError, InternalError)
}


NAMES = {
    "key_size": "the size of key",
    "value_size": "the size of value",
    "element_bytes": "the size of element",
    "ttl_seconds": "ttl",
    "FARHASH_LOCK_FREE": "Mode.LOCK_FREE",
    "FARHASH_FINE": "Mode.FINE",
    "FARHASH_COARSE": "Mode.COARSE",
    "FARHASH_AUTO": "Access.AUTO",
    "FARHASH_ONE_SIDED": "Access.ONE_SIDED",
    "FARHASH_SHIPPED": "Access.SHIPPED",
    "farhash_index_build_batch": "Index",
    "farhash_index_load": "Index.open",
    "farhash_index_save": "Index.save",
    "note": "the text of the dtypes",
    "hashes of notes": "hashes of the dtypes",
    "farhash_join_comm": "Job.from_comm",
    **{f"farhash_{kind}_{name}": table + of
       for kind, table in (("set", "Set"), ("bytes", "ByteSet"), ("cache", "Cache"), ("map", "Map"))
       for name, of in (("new", ""), ("open", ".open"), ("save", ".save"), ("load", ".load"))},
}
"""What farhash.h names otherwise than this package."""

FORKED = ("farhash: this process is a fork of a rank, and cannot use its job and tables, or join "
          "another; use tables by name (farhash.Map.open), fork before the job is joined, or give "
          'multiprocessing its method "spawn"')

_named = re.compile(r"\b(?:" + "|".join(NAMES) + r")\b")


def error_of(code: int, library: Any, given: str = "") -> FarhashError:
    """The error for a code that a call of this thread has just returned, in the names of this
    package. What the program has given, such as a path, stays as it is."""
    if code == ForkedError.code:
        return ForkedError(FORKED)
    text = library.farhash_last_error().decode(errors="replace")
    parts = text.split(given) if given else [text]
    named = given.join(_named.sub(lambda m: NAMES[m.group()], part) for part in parts)
    return _classes.get(code, FarhashError)(named)
