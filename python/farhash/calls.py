"""Results of functions of any arguments, in a cache of bytes or in a map by name.

The key of a call is a digest of the function's name and the arguments. Equal arguments have the
same digest on every rank: sets and dicts in any order, arrays by their content. Types count: 1,
1.0 and True are three keys. Objects count by what pickle would store of them.
"""

from __future__ import annotations

import contextlib
import copyreg
import hashlib
import math
import os
import pickle
import struct
import time
import types
import warnings
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from . import memoized
from .abi import MAX_PAIR
from .errors import FullError
from .memoized import Memoized

if TYPE_CHECKING:
    from .caches import Cache
    from .maps import Map

LEAST_KEY, LENGTH = 16, struct.Struct("<I")
EXPIRY = struct.Struct("<d")  # seconds since 1970


class Pickled(Memoized):
    """A function of any arguments."""

    key_size = 32
    room = 0
    """Bytes of the longest pickle that can be stored."""

    def __init__(self, function: Callable[..., Any], name: str | None) -> None:
        super().__init__(function)
        self.too_large = 0
        """How many results this process has computed that were too large to be stored."""
        self._name = _encoded(name or _name_of(function))

    def _read(self, key: bytes) -> bytes | None:
        """The pickle that is stored for a key."""
        raise NotImplementedError

    def _write(self, key: bytes, data: bytes) -> None:
        """Stores one."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = self._key(args, kwargs)
        stored = self._read(key)
        self._looked_up(stored is not None, stored is None)
        if stored is not None:
            return pickle.loads(stored)
        result = self.__wrapped__(*args, **kwargs)
        data = pickle.dumps(result, protocol=4)
        if len(data) <= self.room:
            self._write(key, data)
        else:
            self._count(len(data))
        return result

    def _key(self, args: Any, kwargs: Any) -> bytes:
        digest = hashlib.blake2b(self._name + _encoded((args, kwargs)),
                                 digest_size=min(self.key_size, hashlib.blake2b.MAX_DIGEST_SIZE))
        return digest.digest().ljust(self.key_size, b"\0")

    def _count(self, size: int) -> None:
        with memoized._counting:
            self.too_large += 1
            first = self.too_large == 1
        if first:
            warnings.warn(f"farhash: the pickle of a result has {size} bytes and is not stored; "
                          f"there is room for {self.room}. too_large of the function counts such "
                          "results", RuntimeWarning, stacklevel=3)


class InCache(Pickled):
    """Its results are in a cache."""

    def __init__(self, cache: Cache, function: Callable[..., Any], name: str | None) -> None:
        keys, values = cache._keys, cache._values
        if not (keys.free and values.free) or keys.size < LEAST_KEY or values.size <= LENGTH.size:
            raise TypeError(
                "farhash: memoize for any arguments needs a cache of bytes: key=16 or more, for a "
                f"digest, and value={LENGTH.size} more than the longest pickle; this has a key of "
                f"{keys} and a value of {values}")
        super().__init__(function, name)
        self._cache = cache
        self.key_size, self.room = keys.size, values.size - LENGTH.size

    def _read(self, key: bytes) -> bytes | None:
        stored = self._cache.get(key)
        if stored is None:
            return None
        (length,) = LENGTH.unpack_from(stored)
        data: bytes = stored[LENGTH.size:LENGTH.size + length]
        return data

    def _write(self, key: bytes, data: bytes) -> None:
        self._cache.put(key, (LENGTH.pack(len(data)) + data).ljust(LENGTH.size + self.room, b"\0"))


class InMap(Pickled):
    """Its results are in a map by name."""

    room = MAX_PAIR - EXPIRY.size

    def __init__(self, function: Callable[..., Any], name: str | None, ttl: float | None,
                 open_map: Callable[[], Map]) -> None:
        super().__init__(function, name)
        self._lifetime = math.inf if ttl is None else float(ttl)
        if not self._lifetime > 0:
            raise ValueError(f"farhash: ttl is {ttl}; give seconds, more than 0, or None")
        self._open = open_map
        self._map: Map | None = None

    @property
    def table(self) -> Map:
        """The map, which is opened by the first call that needs it."""
        opened = self._map or self._open()  # a thread that does so, too, has another one
        self._map = opened
        return opened

    def _read(self, key: bytes) -> bytes | None:
        stored = self.table.get(key)
        if stored is None or EXPIRY.unpack_from(stored)[0] <= time.time():
            return None
        data: bytes = stored[EXPIRY.size:]
        return data

    def _write(self, key: bytes, data: bytes) -> None:
        with contextlib.suppress(FullError):
            self.table.put(key, EXPIRY.pack(time.time() + self._lifetime) + data)


def memoize(path: str | os.PathLike[str], *, ttl: float | None = None, name: str | None = None,
            max_bytes: int = 0) -> Callable[[Callable[..., Any]], InMap]:
    """Decorates a function so that it computes only what no process of the host has computed
    before. No job is needed. ::

        @farhash.memoize("results", ttl=3600)
        def lookup(host, *, port=80): ...

    path: of a map by name, see ``Map.open``, in which many functions may have their results. The
        first call opens it.
    ttl: seconds that a result is used; None: for as long as the map is there.
    name: of the function in the map, for one that has none, such as a lambda; None: its module
        and name. Functions of one name share results: those of ``__main__`` are of all programs.
    max_bytes: that a new map may take, as for ``Map``.

    Arguments and results are what pickle takes. What the function raises is raised and not
    stored. Results are returned and not stored when the map is full, or when the pickle is longer
    than ``room``, which ``too_large`` counts. ``cache_info()`` has the hits and misses of this
    process, ``table`` is the map, ``__wrapped__`` the function itself; ``farhash.remove`` forgets
    all results.

    Pickles can run code: only the user whose map it is can write to it.
    """
    from .maps import Map

    def decorate(function: Callable[..., Any]) -> InMap:
        return InMap(function, name, ttl, lambda: Map.open(path, max_bytes=max_bytes))

    return decorate


def _name_of(function: Any) -> str:
    """The name by which other ranks know the function."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '<')}"
    if "<" in name or _bound(function):
        raise ValueError(f"farhash: {function!r:.60} has no name that tells it from others; give "
                         "one by name=")
    return name


def _bound(function: Any) -> bool:
    """Whether it is a method of an object."""
    owner = None if isinstance(function, type) else getattr(function, "__self__", None)
    return not (owner is None or isinstance(owner, types.ModuleType))


def _encoded(value: Any) -> bytes:
    """Bytes that are the same for equal values, and different for others."""
    return b"".join(_parts(value, []))


def _framed(tag: bytes, *parts: bytes) -> bytes:
    """Parts with their lengths, so that no two lists of parts give the same bytes."""
    return tag + struct.pack("<I", len(parts)) + b"".join(
        struct.pack("<Q", len(part)) + part for part in parts)


def _parts(value: Any, outer: list[int]) -> list[bytes]:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex):
        text = value.hex() if kind is float else hex(value) if kind is int else repr(value)
        return [_framed(b"n", kind.__name__.encode(), text.encode())]
    if kind in (bytes, bytearray):
        return [_framed(b"b", kind.__name__.encode(), bytes(value))]
    if kind is str:
        return [_framed(b"s", value.encode("utf-8", "surrogatepass"))]
    if id(value) in outer:
        raise TypeError(f"farhash: an argument contains itself: {kind.__name__}")
    outer = [*outer, id(value)]
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        return [_framed(b"a", kind.__name__.encode(), repr(value.dtype).encode(),
                        repr(value.shape).encode(), value.tobytes())]

    def each(items: Any) -> list[bytes]:
        return [b"".join(_parts(item, outer)) for item in items]

    if kind in (tuple, list):
        return [_framed(kind.__name__[:1].encode(), *each(value))]
    if kind in (set, frozenset):
        return [_framed(b"e", kind.__name__.encode(), *sorted(each(value)))]
    if kind is dict:
        return [_framed(b"d", *sorted(each(value.items())))]
    if isinstance(value, (type, types.FunctionType)) or \
            isinstance(value, types.BuiltinFunctionType) and not _bound(value):
        return [_framed(b"f", _name_of(value).encode())]
    reduce = copyreg.dispatch_table.get(kind)
    reduced = reduce(value) if reduce else value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [_framed(b"g", _name_of(kind).encode(), reduced.encode())]
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    return [_framed(b"o", *each((function, arguments, state)),
                    *each((list(items or ()), list(pairs or ()))))]
