"""The structs and functions of farhash.h, for ctypes."""

from __future__ import annotations

import ctypes
import operator
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Any, NamedTuple, Sequence

from .errors import ArgumentError


class SetStats(NamedTuple):
    """What this rank has done with a set."""

    inserted: int
    found: int
    not_found: int
    full: int
    lost_swaps: int
    """Insertions that another one was faster than."""
    extra_chunks: int
    """Examined beyond the first of each operation."""
    longest_probe: int
    """Buckets examined by the longest search."""


class CacheStats(NamedTuple):
    """What a rank, or all of them, has done with a cache."""

    hits: int
    misses: int
    inserted: int
    updated: int
    evicted: int
    deletes: int
    deleted: int
    mismatches: int
    """Buckets read that failed their checksum."""
    retries: int
    """Buckets read again for it."""
    invalid: int
    """Buckets marked invalid, after mismatches and by deletion."""
    lock_waits: int
    locks_broken: int
    occupied: int
    """Buckets in use in the memory of the rank; of ``all_stats`` only."""


def _words(names: Sequence[str]) -> Any:
    return [(name, c_uint64) for name in names]


class MapStats(NamedTuple):
    """What this rank has done with a map. The keys are ``get``, ``put``, ``delete``,
    ``put_if_absent`` and ``compare_and_put``."""

    calls: dict[str, int]
    round_trips: dict[str, int]
    """Times that they had to wait for another rank's memory."""
    lost_swaps: int
    """Compare-and-swaps that another one was faster than."""


class RawSetStats(Structure):
    _fields_ = _words(SetStats._fields)


class RawCacheStats(Structure):
    _fields_ = _words(CacheStats._fields)


class RawShipping(Structure):
    _fields_ = [("min_batch", c_uint64), ("served", c_uint64), ("reason", c_char * 240)]


class Options(Structure):
    _fields_ = [("timeout_seconds", c_double), ("one_sided", c_int32), ("reserved", c_int32 * 7)]


class SetConfig(Structure):
    _fields_ = [("buckets", c_uint64), ("chunk", c_uint32), ("chunks", c_uint32),
                ("depth", c_uint32), ("access", c_int64),
                ("reserved", c_uint64 * 3)]


class ElementsConfig(Structure):
    _fields_ = [("set", SetConfig), ("element_bytes", c_uint64), ("capacity", c_uint64),
                ("reserved", c_uint64 * 4)]


class CacheConfig(Structure):
    _fields_ = [("key_size", c_uint64), ("value_size", c_uint64), ("buckets", c_uint64),
                ("mode", c_int32), ("retries", c_int32), ("group_buckets", c_uint32),
                ("choices", c_uint32), ("depth", c_uint32), ("access", c_int32),
                ("reserved", c_uint32 * 6)]


class MapConfig(Structure):
    _fields_ = [("slots", c_uint64), ("bytes", c_uint64),
                ("max_key", c_uint32), ("max_value", c_uint32), ("copies", c_uint32),
                ("chunk", c_uint32), ("depth", c_uint32), ("access", c_int32),
                ("reserved", c_uint32 * 6)]


class RawMapStats(Structure):
    _fields_ = [("calls", c_uint64 * 5), ("round_trips", c_uint64 * 5), ("lost_swaps", c_uint64)]


class IndexConfig(Structure):
    _fields_ = [("key_size", c_uint64), ("value_size", c_uint64), ("load", c_double),
                ("max_memory_bytes", c_uint64), ("max_copies", c_uint64), ("variable", c_int32),
                ("depth", c_uint32), ("access", c_int32), ("note", c_char_p), ("reserved", c_uint32 * 4)]


MAX_NOTE = 65536

RankFunction = CFUNCTYPE(c_int, c_void_p, c_void_p)
UpdateFunction = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)
PairFunction = CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p)
FoundFunction = CFUNCTYPE(None, c_size_t, c_void_p, c_size_t, c_void_p)

_out = POINTER(c_void_p)
_word = POINTER(c_uint64)

# What every call with a table begins with is its handle; _of_tables leaves it out.
_of_all: dict[str, Sequence[Any]] = {
    "buckets": [_word], "save": [c_char_p], "load": [c_char_p], "check": [], "close": [],
}
_pair = [c_char_p, c_size_t, c_char_p, c_size_t, _word]
_of_tables: dict[str, dict[str, Sequence[Any]]] = {
    "set": {
        **_of_all, "new": [POINTER(SetConfig), _out], "len": [_word],
        "find_or_put": [c_uint64], "contains": [c_uint64],
        "find_or_put_batch": [c_void_p, c_size_t, c_void_p],
        "contains_batch": [c_void_p, c_size_t, c_void_p],
        "stats_get": [POINTER(RawSetStats)], "grow": [c_uint64],
    },
    "elements": {
        **_of_all, "new": [POINTER(ElementsConfig), _out], "len": [_word],
        "find_or_put": [c_char_p], "contains": [c_char_p],
        "find_or_put_batch": [c_void_p, c_size_t, c_void_p, c_void_p],
        "contains_batch": [c_void_p, c_size_t, c_void_p], "get": [c_uint64, c_void_p],
        "stats_get": [POINTER(RawSetStats)], "grow": [c_uint64, c_uint64],
    },
    "cache": {
        **_of_all, "new": [POINTER(CacheConfig), _out],
        "get": [c_char_p, c_void_p], "put": [c_char_p, c_char_p], "delete": [c_char_p],
        "get_batch": [c_void_p, c_size_t, c_void_p, c_void_p],
        "put_batch": [c_void_p, c_size_t, c_void_p, c_void_p],
        "update": [c_char_p, UpdateFunction, c_void_p],
        "stats_get": [POINTER(RawCacheStats)],
        "all_stats": [c_void_p, POINTER(RawCacheStats)],
        "locate": [c_char_p, POINTER(c_int32), _word],
        "range": [c_int, PairFunction, c_void_p], "len": [_word], "clear": [],
    },
    "map": {
        "new": [POINTER(MapConfig), _out], "len": [_word], "save": [c_char_p],
        "load": [c_char_p], "check": [], "close": [],
        "get": [c_char_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t), _word],
        "put": _pair, "put_if_absent": _pair, "compare_and_put": _pair,
        "delete": [c_char_p, c_size_t], "batch": [c_void_p, c_size_t],
        "range": [PairFunction, c_void_p], "stats_get": [POINTER(RawMapStats)],
    },
    "index": {
        "build_batch": [POINTER(IndexConfig), c_void_p, c_void_p, c_void_p, c_size_t, _out],
        "load": [c_char_p, POINTER(IndexConfig), _out], "save": [c_char_p], "check": [],
        "close": [], "len": [_word], "sizes": [_word, _word, POINTER(c_int32)],
        "note": [c_char_p, c_size_t],
        "get": [c_char_p, c_void_p, POINTER(c_size_t)],
        "get_batch": [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p],
        "lookup": [c_void_p, c_size_t, FoundFunction, c_void_p],
    },
    "job": {"rank": [], "size": [], "barrier": [], "close": []},
}
_plain: dict[str, Sequence[Any]] = {
    "farhash_last_error": [], "farhash_version": [], "farhash_mpi_library": [],
    "farhash_join": [POINTER(Options), _out],
    "farhash_join_fortran_comm": [c_int32, POINTER(Options), _out],
    "farhash_run": [c_int32, POINTER(Options), RankFunction, c_void_p],
    "farhash_shipping_get": [c_void_p, POINTER(RawShipping)],
    "farhash_round": [c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t],
}


def declare(library: ctypes.CDLL) -> None:
    """Tells ctypes what the functions of a library take and return."""
    for name, arguments in _plain.items():
        getattr(library, name).argtypes = list(arguments)
    for kind, functions in _of_tables.items():
        for name, arguments in functions.items():
            getattr(library, f"farhash_{kind}_{name}").argtypes = [c_void_p, *arguments]
    for name in ("farhash_last_error", "farhash_version", "farhash_mpi_library"):
        getattr(library, name).restype = c_char_p


def whole(name: str, value: int, bits: int = 64) -> int:
    """A number that C can hold; ctypes would cut off what is too long."""
    n = operator.index(value)
    if not 0 <= n < 1 << bits:
        raise ArgumentError(f"farhash: {name} is {n}; give 0 to {(1 << bits) - 1}")
    return n
