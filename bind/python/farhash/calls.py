"""Results of functions of any arguments, in a cache of bytes or in a map by name.

The key of a call is a digest of the function's name, its code and the arguments. Equal arguments
have the same digest on every rank: sets and dicts in any order, arrays by their content. Types
count: 1, 1.0 and True are three keys. Objects count by what pickle would store of them.
"""

from __future__ import annotations

import copyreg
import ctypes
import functools
import hashlib
import inspect
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
from .memoized import Memoized, Results

if TYPE_CHECKING:
    from .maps import Map

LEAST_KEY, LENGTH = 16, struct.Struct("<I")
EXPIRY = struct.Struct("<d")  # seconds since 1970


class Pickled(Memoized):
    """A function of any arguments."""

    key_size = 32
    room = 0
    """Bytes of the longest pickle that can be stored."""

    def __init__(self, function: Callable[..., Any], name: str | None, shared: bool) -> None:
        super().__init__(function)
        self.too_large = 0
        """How many results this process has computed that were too large to be stored."""
        if shared and name is None and _of_main(function):
            raise ValueError(f"farhash: {function!r:.60} is of __main__, as functions of other "
                             "programs are that use the table; give a name of its own by name=")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"farhash: {function!r:.60} is a generator, which cannot be stored; "
                            "return a list")
        self._name = _encoded(name or _name_of(function)) + _code_of(function)
        self._awaited = inspect.iscoroutinefunction(function)
        if self._awaited:
            _mark_coroutine_function(self)

    def _read(self, key: bytes) -> bytes | None:
        """The pickle that is stored for a key."""
        raise NotImplementedError

    def _write(self, key: bytes, data: bytes) -> None:
        """Stores one."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._awaited:
            return self._later(args, kwargs)
        key = self._key(args, kwargs)
        found, result = self._find(key)
        return result if found else self._keep(key, self.__wrapped__(*args, **kwargs))

    async def _later(self, args: Any, kwargs: Any) -> Any:
        """What a call of a coroutine function gives, to be awaited. Tasks that await equal calls
        at the same time compute each its own result."""
        key = self._key(args, kwargs)
        found, result = self._find(key)
        return result if found else self._keep(key, await self.__wrapped__(*args, **kwargs))

    def _find(self, key: bytes) -> tuple[bool, Any]:
        stored = self._read(key)
        self._looked_up(stored is not None, stored is None)
        return stored is not None, None if stored is None else pickle.loads(stored)

    def _keep(self, key: bytes, result: Any) -> Any:
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
                          "results", RuntimeWarning, stacklevel=4)


class InCache(Pickled):
    """Its results are in a cache."""

    def __init__(self, cache: Results, function: Callable[..., Any], name: str | None) -> None:
        keys, values = cache._keys, cache._values
        if not (keys.free and values.free) or keys.size < LEAST_KEY or values.size <= LENGTH.size:
            raise TypeError(
                "farhash: memoize for any arguments needs a cache of bytes: key=16 or more, for a "
                f"digest, and value={LENGTH.size} more than the longest pickle; this has a key of "
                f"{keys} and a value of {values}")
        super().__init__(function, name, shared=cache.job is None)
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
        super().__init__(function, name, shared=True)
        self.full = 0
        """How many results this process has computed that the map had no room for."""
        self._sweep_at = 0.0
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
        value = EXPIRY.pack(time.time() + self._lifetime) + data
        try:
            self.table.put(key, value)
        except FullError:
            if not self._sweep():
                self._count_full()
                return
            try:
                self.table.put(key, value)
            except FullError:
                self._count_full()

    def _sweep(self) -> int:
        """Removes what has expired, of all functions, and returns how many results that were. It
        looks at all of them, so it waits until one has expired, and for a second at least."""
        now = time.time()
        if now < self._sweep_at:
            return 0
        expired, later = [], [math.inf]

        def look(key: int, key_size: int, value: int, value_size: int) -> None:
            (end,) = EXPIRY.unpack(ctypes.string_at(value, min(value_size, EXPIRY.size)))
            if end <= now:
                expired.append(ctypes.string_at(key, key_size))
            else:
                later.append(end)

        table = self.table
        table._walk(look)
        if expired:  # a result that another process puts in between is lost, and computed again
            table.delete_batch(expired)
        self._sweep_at = max(min(later), now + 1)
        return len(expired)

    def _count_full(self) -> None:
        with memoized._counting:
            self.full += 1
            first = self.full == 1
        if first:
            warnings.warn("farhash: the map is full and a result is not stored; give memoize more "
                          "max_bytes for a new map, or a ttl, after which results make room. full "
                          "of the function counts such results", RuntimeWarning, stacklevel=5)


def memoize(path: str | os.PathLike[str], *, ttl: float | None = None, name: str | None = None,
            max_bytes: int = 0) -> Callable[[Callable[..., Any]], InMap]:
    """Decorates a function so that it computes only what no process of the host has computed
    before. No job is needed. ::

        @farhash.memoize("results", ttl=3600)
        def lookup(host, *, port=80): ...

    path: of a map by name, see ``Map.open``, in which many functions may have their results. The
        first call opens it.
    ttl: seconds that a result is used; None: for as long as the map is there.
    name: of the function in the map, for one that has none, such as a lambda, or is of
        ``__main__``, as those of other programs; None: its module and name. Functions of one name
        and the same code share results.
    max_bytes: that a new map may take, as for ``Map``.

    An edited function has no results yet. Functions that it calls may change unnoticed: then give
    another name. ``async def`` functions are awaited, and their results stored.

    Arguments and results are what pickle takes. What the function raises is raised and not
    stored. When the map is full, results that have expired make room. If none has, results are
    returned and not stored: the first is a RuntimeWarning, and ``full`` counts them. A result
    whose pickle is longer than ``room`` is not stored either; ``too_large`` counts these.
    ``cache_info()`` has the hits and misses of this process, ``table`` is the map,
    ``__wrapped__`` the function itself; ``farhash.remove`` forgets all results.

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


def _mark_coroutine_function(function: Any) -> None:
    """Makes inspect and asyncio know that what a function returns is to be awaited."""
    mark = getattr(inspect, "markcoroutinefunction", None)  # from Python 3.12 on
    if mark is not None:
        mark(function)
    else:
        import asyncio  # which takes a while, and whoever has such a function has it already

        function._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]


def _of_main(function: Any) -> bool:
    """Whether it is of the main file of a program, also in a process of multiprocessing."""
    return getattr(function, "__module__", "") in ("__main__", "__mp_main__")


def _code_of(function: Any) -> bytes:
    """Bytes that differ when a function in Python has been edited, or what it wraps: its code and
    defaults, and neither its place nor the functions that it calls."""
    parts: list[bytes] = []
    seen: list[Any] = []
    while function is not None and not any(function is one for one in seen):
        seen.append(function)
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            parts.append(_code_parts(code))
            parts += [_default(value) for value in getattr(function, "__defaults__", None) or ()]
            parts += [_framed(b"k", name.encode(), _default(value)) for name, value in
                      sorted((getattr(function, "__kwdefaults__", None) or {}).items())]
        if isinstance(function, functools.partial):
            parts += [_default(value) for value in (*function.args, *function.keywords.items())]
            function = function.func
        else:
            function = getattr(function, "__wrapped__", None)
    return _framed(b"c", *parts)


def _code_parts(code: types.CodeType) -> bytes:
    consts = [_code_parts(value) if isinstance(value, types.CodeType) else _encoded(value)
              for value in code.co_consts]
    names = [name.encode() for name in (*code.co_names, *code.co_varnames, *code.co_freevars,
                                        *code.co_cellvars)]
    return _framed(b"c", code.co_code, _encoded((code.co_argcount, code.co_posonlyargcount,
                                                 code.co_kwonlyargcount, code.co_flags)),
                   _framed(b"v", *consts), _framed(b"v", *names))


def _default(value: Any) -> bytes:
    """A default value, or its type where pickle does not take the value."""
    try:
        return _encoded(value)
    except Exception:
        return _framed(b"t", f"{type(value).__module__}.{type(value).__qualname__}".encode())


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
