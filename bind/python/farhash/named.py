"""Tables by name: where they are, and how a process that was forked gets them again."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any, Callable, TypeVar

from . import library
from .abi import OpenOptions
from .errors import ArgumentError, ClosedError, FarhashError, error_of
from .items import whole
from .table import Table, encoded, of_path

T = TypeVar("T", bound="Named")


class Name:
    """Where a table by name is. It stands in place of a job."""

    def __init__(self, path: str | os.PathLike[str], mode: int, any_owner: bool,
                 existing: bool) -> None:
        name = os.fsdecode(path)
        self.path = os.path.abspath(name) if os.sep in name else name
        self.options = whole("mode", mode, 32), bool(any_owner), bool(existing)

    @property
    def _library(self) -> Any:
        return library.load()

    def _new(self, kind: str) -> Callable[[Any, Any], int]:
        """What makes a table of that kind, of a configuration and a place for its handle."""
        mode, any_owner, existing = self.options
        options = OpenOptions(mode=mode, any_owner=any_owner, existing=existing)
        function = getattr(self._library, f"farhash_{kind}_open")

        def new(config: Any, handle: Any) -> int:
            if config is None:
                return 0  # no other rank waits
            code: int = function(encoded(self.path), config, ctypes.byref(options), handle)
            return code

        return new

    def _error(self, code: int) -> FarhashError:
        return of_path(error_of(code, self._library, self.path), self.path)

    def _has(self, table: Any) -> None:
        """Takes note of a table."""


class Named(Table):
    """Tables that can be opened by name."""

    _given: tuple[Name, tuple[Any, ...], dict[str, Any]] | None = None
    """What to open the table with again; None: it is of a job, or has been closed."""
    _closer: Any

    @classmethod
    def open(cls: type[T], name: str | os.PathLike[str], *args: Any, mode: int = 0o600,
             any_owner: bool = False, existing: bool = False, **kwargs: Any) -> T:
        """Opens the table with a name, or makes it if there is none. Any number of processes of
        the host share it, without a job or a launcher. They come and go, and may be killed. ::

            sessions = farhash.Map.open("sessions")

        name: a path; without a slash a file in /dev/shm, which ends with the system.
        args, kwargs: what the class takes after the job. All of it may be left out where the
            table is there: it is then as in the file, with bytes for what has a dtype. What is
            given must be equal to it.
        mode: permissions of a new file.
        any_owner: the file may belong to another user, who is trusted.
        existing: no table is made; FileError if there is none.

        What is collective for tables of jobs concerns this process alone, while others change
        the table. A table may be pickled, as an argument of ``multiprocessing``: who gets it opens
        it again. So does a fork of this process when it first uses the table. ``farhash.remove``
        ends a table. FileError, FormatError (no table, or one of another kind), ArgumentError.
        """
        return opened(cls, Name(name, mode, any_owner, existing), args, kwargs)

    def close(self) -> None:
        """Gives this process's memory back, of a table of a job this rank's. Not collective. To
        close again does nothing."""
        if self._given is not None:
            self._given = None
            if "_closer" not in self.__dict__:  # a fork that has not opened it again
                self._handle = None
            elif self._closer.detach():
                super().close()
        elif "_library" in self.__dict__:
            super().close()

    def __getattr__(self, attribute: str) -> Any:
        """A fork has no attributes of a table before it uses it. Then it opens the table."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        with _reopening:
            if self._given is not None and "_handle" not in self.__dict__:
                again = opened(type(self), *self._given)
                again._closer.detach()
                self.__dict__.update(again.__dict__)
                _watch(self)
        if self.__dict__.get("_handle", 0) is None and "_library" not in self.__dict__:
            raise ClosedError("farhash: the table has been closed")
        return object.__getattribute__(self, attribute)

    def __reduce__(self) -> Any:
        if self._given is None:
            return super().__reduce__()
        return opened, (type(self), *self._given)


def opened(cls: type[T], name: Name, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """A table that is opened by name."""
    table = cls(name, *args, **kwargs)
    table._given = name, args, kwargs
    _watch(table)
    return table


def remove(name: str | os.PathLike[str]) -> None:
    """Removes the table with a name. Processes that have it open keep it, and the next one that
    opens the name makes a new one. FileError if there is none, FormatError for another file."""
    where = Name(name, 0, False, False)
    code = where._library.farhash_remove(encoded(where.path))
    if code < 0:
        raise where._error(code)


_tables: weakref.WeakSet[Named] = weakref.WeakSet()
_reopening = threading.RLock()


def _watch(table: Named) -> None:
    """Has a table closed when Python forgets it, and opened again by forks."""
    table._closer = weakref.finalize(table, table._function("close"), table._handle)
    table._closer.atexit = False  # threads may be using it
    _tables.add(table)


def _before_fork() -> None:
    if _tables:
        library.prepare_fork()


def _in_child() -> None:
    global _reopening
    _reopening = threading.RLock()
    for table in list(_tables):
        given = table._given
        if given is not None:
            table.__dict__.clear()
            table._given = given


os.register_at_fork(before=_before_fork, after_in_child=_in_child)
