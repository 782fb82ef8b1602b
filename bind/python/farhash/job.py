"""Jobs: the ranks in whose memory tables are."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import weakref
from typing import Any, Callable, NoReturn, TypeVar

from .abi import Options, RunFunction
from .errors import FORKED, ClosedError, FarhashError, ForkedError, error_of, exit_when_lost
from .items import whole
from .library import load, load_for_mpi

R = TypeVar("R")


_ranks: set[int] = set()  # the process ids of this process and of those that it is a fork of


def _for_ranks(load: Callable[[], Any]) -> Any:
    """The library, for a process that becomes a rank. A fork of a rank does not."""
    if _ranks - {os.getpid()}:
        raise ForkedError(FORKED)
    library = load()
    _ranks.add(os.getpid())
    return library


class Job:
    """A number of ranks: the processes of an MPI program, or those that some launcher has
    started, or threads. Made by ``join``, ``from_comm`` and ``run``. ::

        with farhash.Job.join() as job:
            seen = farhash.Set(job)
    """

    def __init__(self, library: Any, handle: int | None) -> None:
        self._library = library
        self._handle = handle
        self._tables: weakref.WeakSet[Any] = weakref.WeakSet()
        self._changing = threading.Lock()
        exit_when_lost()

    @classmethod
    def join(cls, *, timeout_seconds: float = 0, one_sided: bool = False) -> Job:
        """Makes this process a rank of the job that its launcher has started: mpirun, srun,
        torchrun or farhash run. Without a launcher it is the only rank. Collective.

        Ranks on one host need no MPI. For ranks on several hosts import mpi4py.MPI before, or
        use ``from_comm``.

        timeout_seconds: for the other ranks to come; 0 is a minute.
        one_sided: no memory is used directly; for tests and measurements.
        """
        library = _for_ranks(load)
        handle = ctypes.c_void_p()
        code = library.farhash_join(_options(timeout_seconds, one_sided), ctypes.byref(handle))
        if code < 0:
            raise error_of(code, library)
        return cls(library, handle.value)

    @classmethod
    def from_comm(cls, comm: Any, *, timeout_seconds: float = 0, one_sided: bool = False) -> Job:
        """Makes the processes of a communicator of mpi4py the ranks of a job, in their order.
        Collective over the communicator.

        On one host MPI may be finalised before or after the job is closed. On several hosts
        the communicator has all processes of COMM_WORLD in their order, and MPI_Finalize, which
        mpi4py calls at the end of the program, closes the job.
        """
        if not hasattr(comm, "py2f"):
            raise TypeError(f"farhash: {comm!r} is no communicator of mpi4py, such as "
                            "MPI.COMM_WORLD")
        library = _for_ranks(load_for_mpi)
        handle = ctypes.c_void_p()
        code = library.farhash_join_fortran_comm(
            comm.py2f(), _options(timeout_seconds, one_sided), ctypes.byref(handle))
        if code < 0:
            raise error_of(code, library)
        return cls(library, handle.value)

    def _new(self, kind: str) -> Callable[[Any, Any], int]:
        """What makes a table of that kind, of a configuration and a place for its handle."""
        return functools.partial(getattr(self._library, f"farhash_{kind}_new"), self._handle)

    def _has(self, table: Any) -> None:
        """Takes note of a table."""
        with self._changing:
            self._tables.add(table)
            if self._handle is None:  # another thread has closed the job, and the table with it
                table._handle = None

    def _error(self, code: int) -> FarhashError:
        if self._handle is None:
            return ClosedError("farhash: the job has been closed")
        return error_of(code, self._library)

    def _call(self, name: str) -> int:
        code: int = getattr(self._library, f"farhash_job_{name}")(self._handle)
        if code < 0:
            raise self._error(code)
        return code

    @property
    def rank(self) -> int:
        """Rank of this process, 0 to size-1."""
        return self._call("rank")

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._call("size")

    @property
    def closed(self) -> bool:
        """Whether the job has been closed."""
        return self._handle is None

    def barrier(self) -> None:
        """Returns when every rank has called it. Collective. RankError if one has died."""
        self._call("barrier")

    def close(self) -> None:
        """Leaves the job and closes its tables. On one host it does not wait for other ranks. It waits
        for calls of other threads, and further calls fail with a ClosedError. To close again does
        nothing."""
        if self._handle is not None:
            with contextlib.suppress(ClosedError):  # another thread is closing it
                self._call("close")
            with self._changing:
                self._handle = None
                for table in self._tables:
                    table._handle = None

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("farhash: a job cannot be copied or pickled; each rank joins it")

    def __repr__(self) -> str:
        if self.closed:
            return "<farhash.Job, closed>"
        return f"<farhash.Job, rank {self.rank} of {self.size}>"


def _options(timeout_seconds: float, one_sided: bool) -> Any:
    return ctypes.byref(Options(timeout_seconds=timeout_seconds, one_sided=one_sided))


def run(function: Callable[[Job], R], ranks: int, *, timeout_seconds: float = 0,
        one_sided: bool = False) -> list[R]:
    """Calls ``function(job)`` by so many ranks, a thread each, and returns what they return,
    by rank. Under a launcher it is called once, for the rank that this process is.

    What a rank raises is raised here, after the others' collective calls have failed too; if
    several raise, the exception of the lowest rank. Ctrl-C is a KeyboardInterrupt in every rank.
    """
    return _Run(function).call(whole("ranks", ranks, 31), _options(timeout_seconds, one_sided))


class _Run:
    """One call of run."""

    def __init__(self, function: Callable[[Job], Any]) -> None:
        self.function = function
        self.library = _for_ranks(load)
        self.results: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.threads: set[int] = set()
        self.interrupted = False

    def rank(self, handle: int, _: int) -> int:
        """Called by the library, in a thread of the rank."""
        job = Job(self.library, handle)
        rank = job.rank
        self.threads.add(threading.get_ident())
        try:
            if self.interrupted:
                raise KeyboardInterrupt
            self.results[rank] = self.function(job)
            return 0
        except BaseException as err:
            self.errors[rank] = err
            return 1
        finally:
            self.threads.discard(threading.get_ident())
            job.close()

    def call(self, ranks: int, options: Any) -> list[Any]:
        callback = RunFunction(self.rank)
        ended = threading.Event()

        def ranks_run() -> None:
            try:
                code = self.library.farhash_run(ranks, options, callback, None)
                if code < 0:
                    self.errors.setdefault(ranks, error_of(code, self.library))
            finally:
                ended.set()

        # This thread must be free for Ctrl-C, which Python notices in its main thread only.
        thread = threading.Thread(target=ranks_run)
        try:
            thread.start()
        except KeyboardInterrupt:
            self.interrupt()  # ranks that come late will see it
            raise
        while not ended.is_set():
            try:
                ended.wait(1)
            except KeyboardInterrupt:
                self.interrupt()
        if self.errors:
            raise self.errors[min(self.errors, key=self.worth)]
        return [self.results[rank] for rank in sorted(self.results)]

    def worth(self, rank: int) -> tuple[bool, int]:
        """What is raised first: that another rank has failed says less than why it has."""
        return isinstance(self.errors[rank], FarhashError), rank

    def interrupt(self) -> None:
        """Has all ranks raise KeyboardInterrupt as soon as they are in Python."""
        self.interrupted = True
        for thread in list(self.threads):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
