"""Hash tables that live in the memory of many processes and are reached by one-sided
operations: no server stands between a program and its data. ::

    import farhash
    import numpy as np
    from mpi4py import MPI

    with farhash.Job.from_comm(MPI.COMM_WORLD) as job:
        cache = farhash.Cache(job, key=("f8", 3), value=("f8", 2), buckets=100_000)
        react = cache.memoize(simulate, digits=4)
        outputs = react(inputs)     # computes what no rank has computed before

- ``Job``: the ranks; ``Job.join()``, ``Job.from_comm(comm)``, ``run(function, ranks)``
- ``Set``: words of 63 bits, each once: was this seen before, by anybody?
- ``ByteSet``: the same for byte strings, of one length or of any
- ``Cache``: keys and values of fixed sizes; forgets when it is full
- ``Map``: keys and values of any length, changed and deleted; loses nothing
- ``Index``: records that are given once, then read-only
- ``Map.open(name)``, and so on: tables that processes of a host share by name, without a job
- ``memoize(name)``: functions whose results are in such a map
- ``remove(name)``: removes such a table
- ``round_significant``: makes one key of inputs that are nearly equal

What is called collective is called by all ranks, in the same order, with the same arguments.
All else any thread may call at any time; Python's other threads run on while it is in the
library (ctypes releases the GIL). Ctrl-C in a batch is noticed after at most 262,144 items.

Batches take numpy arrays and are many times faster than single calls. Errors are a
``FarhashError``. A fork uses tables by name as its parent does; it cannot use the jobs of its
parent: give multiprocessing its method "spawn" for these.
"""

from .abi import CacheStats, SetStats
from .calls import memoize
from .caches import Cache, Mode, Stored
from .errors import (ArgumentError, ClosedError, FarhashError, FileError, ForkedError,
                     FormatError, FullError, InternalError, LibraryError, OutOfMemoryError,
                     RankError, TimedOutError, UnsupportedError)
from .indexes import Index
from .job import Job, run
from .maps import Map, MapStats
from .memoized import CacheInfo
from .named import remove
from .rounding import round_significant
from .sets import Answer, ByteSet, Set
from .table import Access, Shipping
from .version import __version__

__all__ = [
    "Access", "Answer", "ArgumentError", "ByteSet", "Cache", "CacheInfo", "CacheStats",
    "ClosedError", "FarhashError", "FileError", "ForkedError", "FormatError", "FullError", "Index",
    "InternalError", "Job", "LibraryError", "Map", "MapStats", "Mode",
    "OutOfMemoryError", "RankError", "Set", "SetStats", "Shipping", "Stored", "TimedOutError",
    "UnsupportedError", "__version__", "memoize", "remove", "round_significant", "run",
]
