"""What all tables have in common."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
from typing import Any, Callable, Iterator, NamedTuple, NoReturn, Protocol, TypeVar

import numpy.typing as npt

from .abi import RangeFunction, RawShipping
from .errors import ArgumentError, ClosedError, FarhashError, error_of
from .job import Job

T = TypeVar("T", bound="Table")

PIECE = 1 << 18
"""A call of the library gets so many items of a batch, so that Ctrl-C is noticed in between."""


class Access(enum.IntEnum):
    """How the batches of a table reach memory of ranks on other hosts. It may differ between
    ranks. Memory of the same host is always used directly."""

    AUTO = 0
    """Whichever takes less time, as measured when the table is made."""
    ONE_SIDED = 1
    """By gets, puts and swaps of this rank."""
    SHIPPED = 2
    """The ranks that have the data carry them out. ArgumentError where that is not possible."""


class Shipping(NamedTuple):
    """What a table does with batches for ranks on other hosts."""

    min_batch: int | None
    """Operations for one rank from which on they are shipped; None: none ever are."""
    served: int
    """Operations that this rank has done for others."""
    reason: str
    """A sentence."""


class Owner(Protocol):
    """In whose memory tables are made: a Job, or a Name."""

    @property
    def _library(self) -> Any: ...

    def _new(self, kind: str) -> Callable[[Any, Any], int]: ...

    def _error(self, code: int) -> FarhashError: ...

    def _has(self, table: Any) -> None: ...


class Table:
    """A table in the memory of the ranks of a job. Made by all ranks alike, in the same order.
    Or a table by name: see ``open``.

    Any thread may use it at any time; Python's other threads run on while a call is in the library.
    A table is closed by ``close``, at the end of its ``with``, or with its job; not when Python
    forgets it, as other ranks may be using what is in this rank's memory. A table by name is closed
    then, too. A close waits for calls of other threads, and further calls fail with a ClosedError.
    """

    _kind = ""

    def __init__(self, job: Owner, configure: Callable[[], ctypes.Structure],
                 new: Callable[[Any, Any], int] | None = None) -> None:
        """new makes the table by the library; the default is the function of that name. Without
        a configuration it fails on every rank."""
        if not hasattr(job, "_new"):
            raise TypeError(f"farhash: a table is made on a Job, not {job!r:.60}")
        self._library = job._library
        self._handle: int | None = None
        self._job: Any = job
        handle = ctypes.c_void_p()
        new = new or job._new(self._kind)
        try:
            config = configure()
        except Exception:
            new(None, ctypes.byref(handle))  # so that no rank waits for this one
            raise
        code = new(ctypes.byref(config), ctypes.byref(handle))
        if code < 0:
            raise job._error(code)
        self._handle = handle.value
        job._has(self)

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"farhash_{self._kind}_{name}")

    def _error(self, code: int, given: str = "") -> FarhashError:
        if self._handle is None:
            return ClosedError("farhash: the table has been closed, or its job has")
        return error_of(code, self._library, given)

    def _call(self, name: str, *arguments: Any) -> int:
        code: int = self._function(name)(self._handle, *arguments)
        if code < 0:
            raise self._error(code)
        return code

    def _number(self, name: str) -> int:
        n = ctypes.c_uint64()
        self._call(name, ctypes.byref(n))
        return n.value

    @property
    def job(self) -> Job | None:
        """The job in whose memory the table is; None for a table by name."""
        return self._job if isinstance(self._job, Job) else None

    @property
    def closed(self) -> bool:
        """Whether the table, or its job, has been closed."""
        return self._handle is None

    @property
    def shipping(self) -> Shipping:
        """What became of ``access``."""
        raw = RawShipping()
        code = self._library.farhash_shipping_get(self._handle, ctypes.byref(raw))
        if code < 0:
            raise self._error(code)
        return Shipping(raw.min_batch if raw.min_batch < (1 << 64) - 1 else None, raw.served,
                        raw.reason.decode())

    def check(self) -> None:
        """Verifies the whole table, or raises FarhashError on every rank. Collective."""
        self._call("check")

    def _file(self, name: str, path: str | os.PathLike[str]) -> None:
        """Calls a function for a path."""
        code = self._function(name)(self._handle, encoded(path))
        if code < 0:
            raise of_path(self._error(code, os.fsdecode(path)), path)

    def close(self) -> None:
        """Gives this rank's memory back. Not collective. To close again does nothing."""
        if self._handle is not None:
            with contextlib.suppress(ClosedError):  # another thread is closing it
                self._call("close")
            self._handle = None

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("farhash: a table cannot be copied or pickled; each rank makes it")

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<farhash.{type(self).__name__}{state}>"


class Saved(Table):
    """Tables that are saved to files, and loaded into others."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, which any number of ranks can load. ``path`` is the same file on
        every rank. Collective, and nothing else may run on the table during the call. FileError."""
        self._file("save", path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Puts what is in the file. Collective, and nothing else may run on the table
        during the call. FileError, FormatError."""
        self._file("load", path)


class Bucketed(Saved):
    """What sets and caches have in common."""

    @property
    def buckets(self) -> int:
        """How many buckets all ranks have together, maybe more than were asked for."""
        return self._number("buckets")

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.buckets} buckets"
        return f"<farhash.{type(self).__name__}, {state}>"


class Pairs(Saved):
    """What maps and caches have in common: they are used like a dict, which all ranks share."""

    def get(self, key: Any, default: Any = None) -> Any:
        raise NotImplementedError

    def put(self, key: Any, value: Any) -> Any:
        raise NotImplementedError

    def delete(self, key: Any) -> bool:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        """The value of a key, or KeyError."""
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        """As ``put``."""
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        """Removes a key, or KeyError."""
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def setdefault(self, key: Any, default: Any) -> Any:
        """The value of a key, which is ``default`` from now on if it is not there."""
        value = self.get(key)
        if value is None:
            self.put(key, default)
            value = self.get(key, default)
        return value

    def items(self) -> list[tuple[Any, Any]]:
        """All keys with their values, of all ranks. What is put or deleted during the call may be
        there or not."""
        raise NotImplementedError

    def keys(self) -> list[Any]:
        """All keys, as ``items``."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """All values, as ``items``."""
        return [value for _, value in self.items()]

    def __iter__(self) -> Iterator[Any]:
        """All keys, of all ranks, as they are now."""
        return iter(self.keys())

    def __len__(self) -> int:
        """How many keys there are: exact while no rank changes any. It reads the whole table."""
        return self._number("len")

    def __bool__(self) -> bool:
        return True

    def _range(self, *which: int) -> list[tuple[bytes, bytes]]:
        """The bytes of all pairs. An exception in between, such as Ctrl-C, ends it and is raised."""
        pairs: list[tuple[bytes, bytes]] = []
        self._walk(lambda key, key_size, value, value_size: pairs.append(
            (ctypes.string_at(key, key_size), ctypes.string_at(value, value_size))), *which)
        return pairs

    def _walk(self, use: Callable[[int, int, int, int], None], *which: int) -> None:
        """Calls use with the addresses and sizes of the key and the value of all pairs."""
        raised: list[BaseException] = []

        def each(key: int, key_size: int, value: int, value_size: int, _: int) -> int:
            try:
                use(key, key_size, value, value_size)
                return 0
            except BaseException as err:
                raised.append(err)
                return 1

        self._call("range", *which, RangeFunction(each), None)
        if raised:
            raise raised[0]


def encoded(path: str | os.PathLike[str]) -> bytes:
    """A path for C. One that C would cut off is given as none at all: then the call fails on
    every rank."""
    given = os.fsencode(path)
    return b"" if b"\0" in given else given


def of_path(error: FarhashError, path: str | os.PathLike[str]) -> FarhashError:
    """The error of a call for a path."""
    if isinstance(error, ArgumentError) and b"\0" in os.fsencode(path):
        return ArgumentError(f"farhash: the path {path!r} has a NUL in it")
    return error


def pieces(call: Callable[..., int], handle: int | None, first: npt.NDArray[Any],
           *others: npt.NDArray[Any] | None) -> Iterator[int]:
    """Has a batch call work on arrays of equal length, piece by piece, and gives its codes."""
    for begin in range(0, len(first) or 1, PIECE):
        n = min(len(first) - begin, PIECE)
        yield call(handle, _at(first, begin), n, *(_at(a, begin) for a in others))


def _at(array: npt.NDArray[Any] | None, begin: int) -> int | None:
    if array is None or len(array) == 0:
        return None
    return array.ctypes.data + begin * array.strides[0]
