"""Functions whose results are in a cache, so that no rank computes them again."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import types
from typing import Any, Callable, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .rounding import round_significant


_counting = threading.Lock()


def _in_child() -> None:
    global _counting
    _counting = threading.Lock()  # a thread of the parent may have had it


os.register_at_fork(after_in_child=_in_child)


class CacheInfo(NamedTuple):
    """What a memoized function has found, on this rank. Functions of arrays count keys."""

    hits: int
    misses: int


class Results(Protocol):
    """The cache that has the results of a function."""

    _keys: Any
    _values: Any

    @property
    def job(self) -> Any: ...

    def get(self, key: Any) -> Any: ...

    def put(self, key: Any, value: Any) -> Any: ...

    def get_batch(self, keys: Any) -> Any: ...

    def put_batch(self, keys: Any, values: Any) -> Any: ...


class Memoized:
    """A function whose results are in a table. Made by ``Cache.memoize`` and ``memoize``."""

    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._hits = self._misses = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Binds a method to its object, as functions do."""
        return self if owner is None else types.MethodType(self, owner)

    def cache_info(self) -> CacheInfo:
        """How often a result was in the cache, and how often it was not."""
        with _counting:
            return CacheInfo(self._hits, self._misses)

    def _looked_up(self, hits: int, misses: int) -> None:
        with _counting:
            self._hits += hits
            self._misses += misses


class Batched(Memoized):
    """A function of arrays of keys."""

    def __init__(self, cache: Results, function: Callable[..., Any],
                 digits: npt.ArrayLike | None, floors: npt.ArrayLike | None) -> None:
        super().__init__(function)
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"farhash: {function!r:.60} is async, and functions of arrays are "
                            "not; give pickled=True")
        self._cache = cache
        self._digits, self._floors = digits, floors

    def __call__(self, inputs: Any) -> npt.NDArray[Any]:
        cache = self._cache
        keys = cache._keys.many(inputs)
        if self._digits is not None:
            if keys.dtype != np.float64:
                raise TypeError(f"farhash: digits are for keys of float64, not {keys.dtype}")
            keys = round_significant(keys, self._digits, self._floors)
        values, hits = cache.get_batch(keys)
        missing = np.flatnonzero(~hits)
        self._looked_up(len(hits) - len(missing), len(missing))
        if len(missing):
            once, which = _distinct(keys[missing])
            computed = cache._values.many(self.__wrapped__(once))
            cache.put_batch(once, computed)
            _rows(values)[missing] = _rows(computed)[which]
        return values


def _rows(items: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The bytes of items, a row for each, in the same memory."""
    return items.reshape(len(items), -1).view(np.uint8)


def _distinct(keys: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Keys, each once, and for each of all which of those it is."""
    rows = _rows(keys)
    as_bytes = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    return keys[first], which.reshape(-1)
