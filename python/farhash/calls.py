"""Results of functions of any arguments, in a cache of bytes.

The key of a call is a digest of the function's name and the arguments. Equal arguments have the
same digest on every rank: sets and dicts in any order, arrays by their content. Types count: 1,
1.0 and True are three keys. Objects count by what pickle would store of them.
"""

from __future__ import annotations

import copyreg
import hashlib
import pickle
import struct
import types
import warnings
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .memoized import Memoized

if TYPE_CHECKING:
    from .caches import Cache

LEAST_KEY, LENGTH = 16, struct.Struct("<I")


class Pickled(Memoized):
    """A function of any arguments."""

    def __init__(self, cache: Cache, function: Callable[..., Any], name: str | None) -> None:
        keys, values = cache._keys, cache._values
        if not (keys.free and values.free) or keys.size < LEAST_KEY or values.size <= LENGTH.size:
            raise TypeError(
                "farhash: memoize for any arguments needs a cache of bytes: key=16 or more, for a "
                f"digest, and value={LENGTH.size} more than the longest pickle; this has a key of "
                f"{keys} and a value of {values}")
        super().__init__(cache, function)
        self.too_large = 0
        """How many results this rank has computed that were too large to be stored."""
        self._name = _encoded(name or _name_of(function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = self._key(args, kwargs)
        stored = self._cache.get(key)
        self._looked_up(stored is not None, stored is None)
        if stored is not None:
            (length,) = LENGTH.unpack_from(stored)
            return pickle.loads(stored[LENGTH.size:LENGTH.size + length])
        result = self.__wrapped__(*args, **kwargs)
        data = pickle.dumps(result, protocol=4)
        size, room = LENGTH.size + len(data), self._cache._values.size
        if size <= room:
            self._cache.put(key, (LENGTH.pack(len(data)) + data).ljust(room, b"\0"))
        else:
            self._count(size, room)
        return result

    def _key(self, args: Any, kwargs: Any) -> bytes:
        size = self._cache._keys.size
        digest = hashlib.blake2b(self._name + _encoded((args, kwargs)),
                                 digest_size=min(size, hashlib.blake2b.MAX_DIGEST_SIZE))
        return digest.digest().ljust(size, b"\0")

    def _count(self, size: int, room: int) -> None:
        with self._lock:
            self.too_large += 1
            first = self.too_large == 1
        if first:
            warnings.warn(f"farhash: a result takes {size} bytes and is not stored; values of the "
                          f"cache have {room}. too_large of the function counts such results",
                          RuntimeWarning, stacklevel=3)


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
