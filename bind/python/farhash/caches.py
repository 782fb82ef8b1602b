"""Caches: results that other ranks may need."""

from __future__ import annotations

import ctypes
import enum
import functools
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from .abi import CacheConfig, CacheStats, RawCacheStats, UpdateFunction
from .calls import InCache
from .items import Items, size_of, whole
from .job import Job
from .memoized import Batched
from .named import Name, Named
from .table import Access, Bucketed, Pairs, pieces


class Mode(enum.IntEnum):
    """How reads and writes of a bucket are synchronized."""

    LOCK_FREE = 0
    FINE = 1
    COARSE = 2


class Stored(enum.IntEnum):
    """What has become of a key that was put."""

    NEW = 1
    """Stored in a bucket that was free."""
    UPDATED = 2
    """The key was there, and now has this value."""
    EVICTED = 3
    """Stored in place of another key."""


_stored: tuple[Any, ...] = (None, *Stored)  # by code


class Cache(Bucketed, Pairs, Named):
    """Keys and values of fixed sizes. It forgets when it is full, but what it finds was put as
    a whole under that very key, by any rank. Keys are compared by their bytes: see
    ``round_significant`` for floating-point ones. It is used like a dict, too:
    ``cache[key] = value``, ``key in cache``, ``del cache[key]``, ``for key in cache``.

    key, value: what they are: a number of bytes or a dtype, see ``farhash.items``. Two examples:
        ``Cache(job, key=80, value=104, ...)`` has bytes,
        ``Cache(job, key=("f8", 10), value=("f8", 13), ...)`` has arrays of float64.
    buckets: of all ranks; each holds a key with its value.
    retries: of a bucket that fails its checksum; below 0 none.
    group_buckets: that are next to each other, 1 to 8.
    choices: groups that a key may be in, 1 to 8.
    depth: operations of a batch in flight, where memory is not direct.
    access: how batches reach ranks on other hosts.
    ttl: seconds that a pair is found after it was put, unless ``put`` says otherwise; ``math.inf``
        if nothing else does; 0: pairs do not expire, and ``put`` takes no ttl.

    0 is the default of each but sizes and buckets. Every rank gives the same. Collective.

    ``Cache.open(name, ...)`` is of no job: processes share it by its name. If the cache is there,
    ``Cache.open(name)`` suffices; its keys and values are then bytes.
    """

    _kind = "cache"

    def __init__(self, job: Job | Name, key: Any = None, value: Any = None, buckets: int = 0, *,
                 mode: Mode = Mode.LOCK_FREE, retries: int = 0, group_buckets: int = 0,
                 choices: int = 0, depth: int = 0, access: Access = Access.AUTO,
                 ttl: float = 0) -> None:
        def configure() -> CacheConfig:
            by_name = isinstance(job, Name)
            return CacheConfig(
                key_size=size_of("key", key, by_name),
                value_size=size_of("value", value, by_name),
                buckets=whole("buckets", buckets), mode=Mode(mode),
                retries=max(-1, min(retries, 1 << 30)),
                group_buckets=whole("group_buckets", group_buckets, 31),
                choices=whole("choices", choices, 31), depth=whole("depth", depth, 31),
                access=Access(access), ttl_seconds=_seconds(ttl))

        super().__init__(job, configure)
        sizes = [ctypes.c_uint64(), ctypes.c_uint64()]
        self._call("sizes", *map(ctypes.byref, sizes))
        self._keys = Items("key", sizes[0].value if key is None else key)
        self._values = Items("value", sizes[1].value if value is None else value)
        self._get = self._function("get")
        self._put = self._function("put")
        self._put_ttl = self._function("put_ttl")
        self._buffer = ctypes.c_char * self._values.size

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, as declared: bytes, an array or a scalar. ``default`` if it is not
        there."""
        value = self._buffer()
        code = self._get(self._handle, self._keys.one(key), value)
        if code < 0:
            raise self._error(code)
        return self._values.of(value) if code else default

    def put(self, key: Any, value: Any, ttl: float = 0) -> Stored:
        """Stores a value for every rank. It may evict another key.

        ttl: seconds that it is found, ``math.inf`` for ever; 0: as the cache says."""
        pair = self._keys.one(key), self._values.one(value)
        if ttl:
            code = self._put_ttl(self._handle, *pair, _seconds(ttl))
        else:
            code = self._put(self._handle, *pair)
        if code < 0:
            raise self._error(code)
        stored: Stored = _stored[code]
        return stored

    def delete(self, key: Any) -> bool:
        """Removes a key. Returns whether it was there."""
        return bool(self._call("delete", self._keys.one(key)))

    def get_batch(self, keys: Any, out: npt.NDArray[Any] | None = None) -> \
            tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """``get`` for many at once, many times faster.

        keys: array of n keys, used where it is if C-contiguous.
        out: C-contiguous array of n values to write to; a new one if None.
        Returns the array of values and an array (n,) of bool, True for what was there. Where it
        is False the value is undefined.
        """
        items = self._keys.many(keys)
        values = self._values.room(len(items), out)
        hits = np.zeros(len(items), np.bool_)
        self._batch(self._function("get_batch"), items, values, hits)
        return values, hits

    def put_batch(self, keys: Any, values: Any, ttl: float = 0) -> npt.NDArray[np.uint8]:
        """``put`` for many at once: arrays of n keys and n values. If a key comes twice, one of
        its values stays. Returns an array (n,) of uint8, values of ``Stored``. After Ctrl-C some
        have been put and others not.
        """
        items, contents = self._keys.many(keys), self._values.many(values)
        if len(items) != len(contents):
            raise ValueError(f"farhash: {len(items)} keys and {len(contents)} values")
        results, seconds = np.zeros(len(items), np.uint8), _seconds(ttl)
        put = self._function("put_batch_ttl")
        self._batch(lambda cache, k, n, v, r: put(cache, k, n, v, seconds, r), items, contents,
                    results)
        return results

    def _batch(self, call: Callable[..., int], *arrays: npt.NDArray[Any]) -> None:
        for code in pieces(call, self._handle, *arrays):
            if code < 0:
                raise self._error(code)

    def update(self, key: Any, function: Callable[[Any, bool], Any]) -> Stored | None:
        """Reads the value of a key, and stores what ``function(value, found)`` returns of it.

        value is as ``get`` returns it, all zeros if found is False. If function returns None
        the cache stays as it is, and None is returned. No lock is held during the call: what others
        put in between is lost. What function raises is raised here.
        """
        raised: list[BaseException] = []

        def change(address: int, found: int, _: int) -> int:
            try:
                memory = self._buffer.from_address(address)
                before = self._values.of(self._buffer.from_buffer_copy(memory))
                value = function(before, bool(found))
                if value is not None:
                    memory.raw = self._values.one(value)
                return value is not None
            except BaseException as err:
                raised.append(err)
                return 0

        code = self._call("update", self._keys.one(key), UpdateFunction(change), None)
        if raised:
            raise raised[0]
        return Stored(code) if code else None

    def memoize(self, function: Callable[..., Any] | None = None, *,
                digits: npt.ArrayLike | None = None, floors: npt.ArrayLike | None = None,
                pickled: bool = False, name: str | None = None) -> Any:
        """The same function, which computes only what no rank has computed before. ::

            react = cache.memoize(simulate, digits=4)
            outputs = react(inputs)

            @cache.memoize(pickled=True)
            def parse(text): ...

        function: takes an array of n keys and returns n values, each of which depends on
            nothing but its key. It gets the keys that are missing, each once.
        digits, floors: inputs are first rounded by ``round_significant``; function gets
            them rounded.
        pickled: function takes and returns anything that pickle takes, one call at a time. The
            cache has bytes: keys of at least 16 for a digest of the arguments, and values of 4 more
            than the longest pickle of a result. A longer one is returned and not stored; the
            attribute ``too_large`` of what is returned here counts these, and the first is a
            RuntimeWarning.
        name: of the function in the cache, for one that pickled cannot name, such as a lambda, or
            one of ``__main__`` in a cache by name; None: its module and name. Functions of one name
            and the same code share results; an edited one has none. Without pickled, all functions
            do that are given to one cache.

        What is returned has the name and the documentation of function, function itself as
        ``__wrapped__``, and ``cache_info()``: the hits and misses of this rank. ``clear`` empties
        the cache, of all functions and ranks. Without function this is a decorator with arguments.

        Pickles can run code: with pickled, load only files that you trust. TypeError for a cache
        of other sizes, and for arguments that pickle does not take.
        """
        if function is None:
            return functools.partial(self.memoize, digits=digits, floors=floors, pickled=pickled,
                                     name=name)
        if not pickled:
            return Batched(self, function, digits, floors)
        if digits is not None or floors is not None:
            raise TypeError("farhash: digits and floors are for arrays, not for pickled")
        return InCache(self, function, name)

    def items(self) -> list[tuple[Any, Any]]:
        """All keys with their values, of all ranks, as declared. What is put during the call may be
        there or not."""
        def of(items: Items, data: bytes) -> Any:
            return items.of((ctypes.c_char * items.size).from_buffer_copy(data))

        return [(of(self._keys, key), of(self._values, value)) for key, value in self._range(0)]

    def clear(self) -> None:
        """Removes all keys. Collective, and nothing else may run on the cache during the call."""
        self._call("clear")

    def stats(self) -> CacheStats:
        """What this rank has done since the cache was made."""
        raw = RawCacheStats()
        self._call("stats_get", ctypes.byref(raw))
        return _stats(raw)

    def all_stats(self) -> tuple[list[CacheStats], CacheStats]:
        """The same of all ranks, by rank, and their sum. Collective."""
        ranks, total = (RawCacheStats * (self.job.size if self.job else 1))(), RawCacheStats()
        self._call("all_stats", ctypes.byref(ranks), ctypes.byref(total))
        return [_stats(raw) for raw in ranks], _stats(total)

    def locate(self, key: Any) -> tuple[int, int] | None:
        """The rank that has a key in its memory, and in which bucket of that rank it is; None if
        it is nowhere."""
        rank, bucket = ctypes.c_int32(), ctypes.c_uint64()
        found = self._call("locate", self._keys.one(key), ctypes.byref(rank),
                           ctypes.byref(bucket))
        return (rank.value, bucket.value) if found else None


def _seconds(ttl: float) -> float:
    """A time to live as C has it."""
    if not ttl >= 0:
        raise ValueError(f"farhash: ttl is {ttl}; give seconds, math.inf or 0")
    return ttl


def _stats(raw: RawCacheStats) -> CacheStats:
    return CacheStats(*(getattr(raw, name) for name in CacheStats._fields))
