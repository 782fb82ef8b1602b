"""Maps: keys and values of any length, which all ranks read and change."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .abi import MapConfig, RawMapCall, RawMapStats
from .errors import ArgumentError, FullError
from .items import whole
from .job import Job
from .named import Name, Named
from .packed import Many, Packed, addresses, bytes_of, pack
from .table import PIECE, Access, Pairs, pieces

GET, PUT, DELETE, PUT_IF_ABSENT, COMPARE_AND_PUT, ADD = range(6)
_KINDS = ("get", "put", "delete", "put_if_absent", "compare_and_put", "add")
_HIT, _STORED = 1, 2  # what the library answers to gets and deletes, and to puts

_CALL: np.dtype[Any] = np.dtype(RawMapCall)

_ROOM = 1 << 24
"""Bytes that a piece of a batch of gets has for values."""

_FIRST_ROOM = 1 << 10
"""Bytes that a get has for a value, until one is longer."""

class Map(Pairs, Named):
    """Keys and values that are byte strings of any length. Any rank gets, puts and deletes; the
    map is linearizable and loses nothing. It is used like a dict, too: ``pairs[key] = value``,
    ``key in pairs``, ``del pairs[key]``, ``for key in pairs``. ``save`` does not save versions.

    No size is needed: the map grows while it is used. ``Map.open(name)`` is of no job: processes
    share it by its name.

    slots: a key takes one, of 8 bytes, also when it is deleted, until the table moves. With
        max_bytes: to begin with.
    bytes: memory for keys and values, which take 16 bytes more, rounded up to a multiple
        of 64, or to 1.5, 2, 3, 4, 6 KiB and so on; 0: what max_bytes leaves.
    max_key, max_value: the longest key and value, in bytes; 0 is 65536, the most.
    max_bytes: of all ranks together, that the map may take while it grows; 0: 0.8 of the memory
        that the hosts have left (.05 over UCX and MPI), or as slots and bytes say.
    copies: slots take 32 bytes, with pairs of up to 16 in them, which saves a round trip.
    chunk: slots that one remote get brings.
    depth: operations of a batch in flight, where memory is not direct.
    access: how batches reach ranks on other hosts.

    0 is the default of all of them. Every rank gives the same. Collective.

    A key or a value is bytes, or a numpy array or scalar, of which the bytes are taken. A key may
    be a str, which stands for its bytes in UTF-8; keys that are read are bytes. A batch of
    them is a list of these, or one array whose rows along the first axis are the items; the
    rows of one that is C-contiguous are used where they are. What is not bytes is a TypeError, a
    length that the map does not take an ArgumentError.

    A version names what was put: each put gives another, and 0 is for a key that is not
    there.
    """

    _kind = "map"

    def __init__(self, job: Job | Name, slots: int = 0, bytes: int = 0, max_key: int = 0,
                 max_value: int = 0, *, max_bytes: int = 0, copies: bool = False,
                 chunk: int = 0, depth: int = 0, access: Access = Access.AUTO) -> None:
        def configure() -> MapConfig:
            self._room = min(max_value or _FIRST_ROOM, _FIRST_ROOM)
            return MapConfig(
                slots=whole("slots", slots),
                bytes=whole("bytes", bytes),
                max_key=whole("max_key", max_key, 32),
                max_value=whole("max_value", max_value, 32),
                max_bytes=whole("max_bytes", max_bytes),
                copies=bool(copies), chunk=whole("chunk", chunk, 31),
                depth=whole("depth", depth, 31), access=Access(access))

        super().__init__(job, configure)

    def get(self, key: Any, default: Any = None) -> bytes | Any:
        """The value of a key as bytes, ``default`` if it is not there."""
        value = self.get_version(key)[0]
        return default if value is None else value

    def get_version(self, key: Any) -> tuple[bytes | None, int]:
        """The value of a key and its version; (None, 0) if it is not there."""
        data = bytes_of("key", key)
        size, version = ctypes.c_size_t(), ctypes.c_uint64()
        while True:
            room = self._room
            value = (ctypes.c_char * room)()
            code: int = self._function("get")(self._handle, data, len(data), value, room,
                                              ctypes.byref(size), ctypes.byref(version))
            if code >= 0:
                return (ctypes.string_at(value, size.value) if code else None), version.value
            if code != ArgumentError.code or size.value <= room:
                raise self._error(code)
            self._room = max(self._room, size.value)

    def put(self, key: Any, value: Any) -> int:
        """Stores a value for every rank, and returns its version. FullError if there is no
        place for it."""
        return self._put("put", key, value)[1]

    def put_if_absent(self, key: Any, value: Any) -> tuple[bool, int]:
        """Stores a value if the key is not there. Returns whether it has been stored, and the
        present version. FullError."""
        return self._put("put_if_absent", key, value)

    def compare_and_put(self, key: Any, value: Any, version: int) -> tuple[bool, int]:
        """Stores a value if the key has this version (0: is not there). Returns whether it has
        been stored, and the present version. FullError."""
        return self._put("compare_and_put", key, value, whole("version", version))

    def _put(self, name: str, key: Any, value: Any, version: int = 0) -> tuple[bool, int]:
        data, content = bytes_of("key", key), bytes_of("value", value)
        now = ctypes.c_uint64(version)
        code = self._call(name, data, len(data), content, len(content), ctypes.byref(now))
        return code == _STORED, now.value

    def add(self, key: Any, delta: int = 1) -> int:
        """Adds to a counter and returns the sum, in one step: exact, whoever else adds. A counter
        is a value of 8 bytes, a little-endian int64 (dtype "<i8"), which wraps around. A key that
        is not there counts as 0. ArgumentError if the value has another length, which stays as it
        is. FullError."""
        data, total = bytes_of("key", key), ctypes.c_int64()
        self._call("add", data, len(data), whole("delta", delta, 63, -1 << 63),
                   ctypes.byref(total), None)
        return total.value

    def setdefault(self, key: Any, default: Any) -> Any:
        """The value of a key as bytes, which is ``default`` from now on if it is not there: all
        processes that call it at a time get the same. FullError."""
        while True:
            value = self.get(key)
            if value is not None:
                return value
            if self.put_if_absent(key, default)[0]:
                return bytes_of("value", default)

    def delete(self, key: Any) -> bool:
        """Removes a key. Returns whether it was there."""
        data = bytes_of("key", key)
        return bool(self._call("delete", data, len(data)))

    def get_batch(self, keys: Many) -> list[bytes | None]:
        """``get`` for many at once, many times faster: n keys to a list of n."""
        return self.get_versions(keys)[0]

    def get_versions(self, keys: Many) -> \
            tuple[list[bytes | None], npt.NDArray[np.uint64]]:
        """``get_version`` for many at once: a list of n values, and the versions, an array (n,)
        of uint64."""
        given = pack("key", keys)
        calls = _calls(GET, given)
        found: list[bytes | None] = []
        while len(found) < len(calls) or not len(calls):
            room = self._room
            some = calls[len(found):len(found) + min(PIECE, _ROOM // room)]
            memory = np.empty((len(some), room), np.uint8)
            some["value"], some["room"] = addresses(memory, len(some)), room
            try:
                self._run(some, given, memory)
            except ArgumentError:
                longest = int(some["value_size"].max(initial=0))
                if longest <= room:
                    raise
                self._room = max(self._room, longest)
                continue  # with room for it
            found.extend(row[:size].tobytes() if hit else None for hit, size, row in zip(
                some["result"].tolist(), some["value_size"].tolist(), memory))
            if not len(calls):
                break
        return found, calls["version"].copy()

    def get_into(self, keys: Many, out: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """``get`` for many at once, into an array, for values of one size.

        out: writable C-contiguous array of n rows, each of the bytes of a value.
        Returns an array (n,) of bool, True for what was there. The rows of others are as before.
        ArgumentError if a value is longer than a row, ValueError if one is shorter.
        """
        given = pack("key", keys)
        calls = _calls(GET, given)
        if not isinstance(out, np.ndarray) or out.dtype.hasobject or out.ndim == 0 or \
                not out.flags.c_contiguous or not out.flags.writeable:
            raise TypeError("farhash: out is no writable C-contiguous array")
        if len(out) != len(calls):
            raise ValueError(f"farhash: out has {len(out)} rows for {len(calls)} keys")
        row = out.nbytes // max(1, len(out))
        calls["value"], calls["room"] = addresses(out, len(out)), row
        self._run(calls, given, out)
        hits: npt.NDArray[np.bool_] = calls["result"] == _HIT
        short = np.flatnonzero(hits & (calls["value_size"] != row))
        if len(short):
            raise ValueError(f"farhash: value {short[0]} has {calls['value_size'][short[0]]} "
                             f"bytes, and a row of out has {row}")
        return hits

    def put_batch(self, keys: Many, values: Many) -> npt.NDArray[np.uint64]:
        """``put`` for many at once: n keys and n values. If a key comes twice, one of its values
        stays. Returns the versions, an array (n,) of uint64. FullError, whose ``results`` are
        the versions of those that have been put, 0 for the others."""
        return self._put_batch(PUT, keys, values)[1]

    def put_if_absent_batch(self, keys: Many, values: Many) -> \
            tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """``put_if_absent`` for many at once: arrays (n,) of bool and of uint64. FullError as
        for ``put_batch``."""
        return self._put_batch(PUT_IF_ABSENT, keys, values)

    def compare_and_put_batch(self, keys: Many, values: Many, versions: npt.ArrayLike) -> \
            tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """``compare_and_put`` for many at once. versions: array (n,) of uint64. Returns arrays
        (n,) of bool and of uint64. FullError as for ``put_batch``."""
        return self._put_batch(COMPARE_AND_PUT, keys, values, versions)

    def add_batch(self, keys: Many, deltas: npt.ArrayLike = 1) -> npt.NDArray[np.int64]:
        """``add`` for many at once. deltas: one for all, or an array (n,) of whole numbers. Returns
        the sums, an array (n,) of int64. A key that comes twice is added to twice. After an
        ArgumentError the others may have been added. FullError, whose ``results`` are the
        versions of those that have been added to, 0 for the others."""
        given = pack("key", keys)
        calls = _calls(ADD, given)
        sums = _deltas(deltas, len(calls))
        calls["value"] = addresses(sums, len(sums))
        self._run_puts(calls, given, sums)
        return sums

    def _put_batch(self, kind: int, keys: Many, values: Many,
                   versions: npt.ArrayLike = 0) -> \
            tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        given, contents = pack("key", keys), pack("value", values)
        if len(given.sizes) != len(contents.sizes):
            raise ValueError(f"farhash: {len(given.sizes)} keys and {len(contents.sizes)} values")
        calls = _calls(kind, given)
        calls["value"], calls["value_size"] = contents.addresses, contents.sizes
        calls["version"] = _versions(versions, len(calls))
        self._run_puts(calls, given, contents)
        return calls["result"] == _STORED, calls["version"].copy()

    def delete_batch(self, keys: Many) -> npt.NDArray[np.bool_]:
        """``delete`` for many at once: array (n,) of bool, True for what was there."""
        given = pack("key", keys)
        calls = _calls(DELETE, given)
        self._run(calls, given)
        gone: npt.NDArray[np.bool_] = calls["result"] == _HIT
        return gone

    def _run_puts(self, calls: npt.NDArray[Any], *memory: Any) -> None:
        """_run for calls that put. A FullError gets their versions."""
        try:
            self._run(calls, *memory)
        except FullError as err:
            err.results = np.where(calls["result"] < 0, np.uint64(0), calls["version"])
            raise

    def _run(self, calls: npt.NDArray[Any], *_memory: Any) -> None:
        """Makes calls, whose addresses are in memory that stays until they are done. All
        are tried if the map is full."""
        full = None
        for code in pieces(self._function("batch"), self._handle, calls):
            if code == FullError.code:
                full = full or self._error(code)
            elif code < 0:
                raise self._error(code)
        if full is not None:
            raise full

    def items(self) -> list[tuple[bytes, bytes]]:
        """All keys with their values, of all ranks. What is put or deleted during the call may be
        there or not."""
        return self._range()

    def check(self) -> None:
        """Walks the whole map, or raises FarhashError. Not collective; nobody may change the
        map during the call."""
        self._call("check")

    def stats(self) -> MapStats:
        """What this rank has done."""
        raw = RawMapStats()
        self._call("stats_get", ctypes.byref(raw))
        return MapStats(dict(zip(_KINDS, raw.calls)), dict(zip(_KINDS, raw.round_trips)),
                        raw.lost_swaps)


class MapStats(NamedTuple):
    """What this rank has done with a map. The keys are ``get``, ``put``, ``delete``,
    ``put_if_absent``, ``compare_and_put`` and ``add``."""

    calls: dict[str, int]
    round_trips: dict[str, int]
    """Times that they had to wait for another rank's memory."""
    lost_swaps: int
    """Compare-and-swaps that another one was faster than."""


def _calls(kind: int, keys: Packed) -> npt.NDArray[Any]:
    calls = np.zeros(len(keys.sizes), _CALL)
    calls["kind"], calls["key"], calls["key_size"] = kind, keys.addresses, keys.sizes
    return calls


def _versions(versions: npt.ArrayLike, n: int) -> npt.NDArray[np.uint64]:
    array = np.asarray(versions)
    if array.ndim == 0 and array == 0:
        return np.zeros(n, np.uint64)
    if array.shape != (n,):
        raise ValueError(f"farhash: versions have shape {array.shape}; expected is ({n},)")
    if array.dtype != np.uint64:
        raise TypeError(f"farhash: versions are uint64, not {array.dtype}")
    return array


def _deltas(deltas: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    array = np.asarray(deltas)
    if array.shape not in ((), (n,)):
        raise ValueError(f"farhash: deltas have shape {array.shape}; expected is () or ({n},)")
    if n and not np.can_cast(array.dtype, np.int64):
        raise TypeError(f"farhash: deltas are int64, not {array.dtype}")
    return np.array(np.broadcast_to(array, (n,)), np.int64)
