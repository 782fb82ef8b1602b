"""Sets of words and of byte strings: was this seen before, by anybody?"""

from __future__ import annotations

import ctypes
import enum
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from .abi import ElementsConfig, RawSetStats, SetConfig, SetStats, String
from .errors import ArgumentError, FullError
from .items import Items, size_of, whole
from .job import Job
from .named import Name, Named
from .packed import Many, Packed, bytes_of, pack
from .table import Access, Bucketed, pieces


class Answer(enum.IntEnum):
    """What a set says of a word or an element."""

    NOT_FOUND = 0
    """It is not there."""
    FOUND = 1
    """It was there before the call."""
    INSERTED = 2
    """It was not, and now it is."""
    FULL = 3
    """It is not there, and no place is free. In arrays only."""


_answers: tuple[Answer, ...] = tuple(Answer)


class _Searched(Bucketed, Named):
    """What both kinds of set have in common."""

    def __len__(self) -> int:
        """How many there are: exact while no rank inserts."""
        return self._number("len")

    def __bool__(self) -> bool:
        return True

    def stats(self) -> SetStats:
        """What this rank has done. Single operations that change nothing are not counted."""
        raw = RawSetStats()
        self._call("stats_get", ctypes.byref(raw))
        return SetStats(*(getattr(raw, name) for name in SetStats._fields))

    def _batch(self, name: str, items: npt.NDArray[Any], dtype: Any,
               *more: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        results = np.zeros(len(items), dtype)
        full = None
        for code in pieces(self._function(name), self._handle, items, results, *more):
            if code == FullError.code:
                full = full or self._error(code)
            elif code < 0:
                raise self._error(code)
        if isinstance(full, FullError):
            full.results = results
            raise full
        return results


def _config(buckets: int, max_bytes: int, chunk: int, chunks: int, depth: int,
            access: Access) -> SetConfig:
    return SetConfig(buckets=whole("buckets", buckets), max_bytes=whole("max_bytes", max_bytes),
                     chunk=whole("chunk", chunk, 31), chunks=whole("chunks", chunks, 31),
                     depth=whole("depth", depth, 31), access=Access(access))


MAX_WORD = (1 << 63) - 1


def _word(word: int) -> int:
    n = operator.index(word)
    return n if 0 <= n <= MAX_WORD else whole("a word", n, 63)


def _words(words: Any) -> npt.NDArray[Any]:
    """An array of words. The library refuses the top bit, and so negative int64."""
    array = np.asarray(words)
    if len(array) == 0 and not isinstance(words, np.ndarray):
        array = array.astype(np.uint64)
    if array.ndim != 1:
        raise ValueError(f"farhash: words have shape {array.shape}; expected is (n,)")
    if array.dtype not in (np.uint64, np.int64):
        raise TypeError(f"farhash: words are uint64 or int64, not {array.dtype}; convert by "
                        ".astype('u8')")
    return np.require(array, requirements=["C", "A"])


class Set(_Searched):
    """Words of 63 bits, each once. Nothing is ever deleted.

    buckets: to begin with, of all ranks together, 8 bytes each; rounded up to 8 per rank; 0 is
        2**16.
    max_bytes: of all ranks together, that the set may take while it grows during its use; 0: it
        keeps its buckets, or without buckets may take .8 of the memory that the hosts have left
        (.05 over UCX and MPI).
    chunk: buckets that one remote get brings, a multiple of 8.
    chunks: chunk * chunks buckets are examined, then the set is full.
    depth: operations of a batch in flight, where memory is not direct.
    access: how batches reach ranks on other hosts.

    0 is the default of each. Every rank gives the same. Collective.

    ``Set.open(name)`` is of no job: processes share it by its name.
    """

    _kind = "set"

    def __init__(self, job: Job | Name, buckets: int = 0, *, max_bytes: int = 0, chunk: int = 0,
                 chunks: int = 0, depth: int = 0, access: Access = Access.AUTO) -> None:
        super().__init__(job, lambda: _config(buckets, max_bytes, chunk, chunks, depth, access))
        self._put = self._function("find_or_put")
        self._has = self._function("contains")

    def find_or_put(self, word: int) -> Answer:
        """Answer.FOUND or Answer.INSERTED; of all ranks that put a word, one gets INSERTED.

        word: 0 to 2**63-1, else ArgumentError. FullError if there is no place for it.
        """
        code: int = self._put(self._handle, _word(word))
        if code < 0:
            raise self._error(code)
        return _answers[code]

    def contains(self, word: int) -> bool:
        """Whether the word is there."""
        code = self._has(self._handle, _word(word))
        if code < 0:
            raise self._error(code)
        return bool(code)

    __contains__ = contains

    def find_or_put_batch(self, words: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """``find_or_put`` for many at once, many times faster.

        words: array (n,) of uint64 or int64, each 0 to 2**63-1; used where it is if C-contiguous.
        Returns an array (n,) of uint8, values of ``Answer``. FullError if any is FULL, which
        has them too; the others hold. After Ctrl-C some have been put and others not.
        """
        return self._batch("find_or_put_batch", _words(words), np.uint8)

    def contains_batch(self, words: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """``contains`` for many at once: array (n,) of bool."""
        return self._batch("contains_batch", _words(words), np.bool_)


class Elements(_Searched):
    """Byte strings of one length, each once. Nothing is ever deleted.

    element: how long they are: a number of bytes or a dtype, see ``farhash.items``.
    capacity: elements that there is memory for; 0 is 15/16 of buckets.

    The rest is as for ``Set``. If a set by name is there, ``Elements.open(name)`` suffices; its
    elements are then bytes.
    """

    _kind = "elements"

    def __init__(self, job: Job | Name, element: Any = None, buckets: int = 0, *, capacity: int = 0,
                 max_bytes: int = 0, chunk: int = 0, chunks: int = 0, depth: int = 0,
                 access: Access = Access.AUTO) -> None:
        def configure() -> ElementsConfig:
            return ElementsConfig(set=_config(buckets, max_bytes, chunk, chunks, depth, access),
                                  element_bytes=size_of("element", element, isinstance(job, Name)),
                                  capacity=whole("capacity", capacity))

        super().__init__(job, configure)
        self._items = Items("element", self._number("size") if element is None else element)
        self._put = self._function("find_or_put")
        self._has = self._function("contains")

    def find_or_put(self, element: Any) -> Answer:
        """Answer.FOUND or Answer.INSERTED, or FullError."""
        code: int = self._put(self._handle, self._items.one(element))
        if code < 0:
            raise self._error(code)
        return _answers[code]

    def contains(self, element: Any) -> bool:
        """Whether the element is there."""
        code = self._has(self._handle, self._items.one(element))
        if code < 0:
            raise self._error(code)
        return bool(code)

    __contains__ = contains

    def find_or_put_batch(self, elements: Any) -> npt.NDArray[np.uint8]:
        """``find_or_put`` for many at once: an array of n elements, say uint8 (n, bytes).

        Returns an array (n,) of uint8, values of ``Answer``. FullError as for ``Set``.
        """
        return self._batch("find_or_put_batch", self._items.many(elements), np.uint8, None)

    def find_or_put_refs(self, elements: Any) -> \
            tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
        """``find_or_put_batch``, with the name of each element: array (n,) of uint64. A name
        means the same on every rank, also when the set has grown; see ``get``."""
        items = self._items.many(elements)
        refs = np.zeros(len(items), np.uint64)
        return self._batch("find_or_put_batch", items, np.uint8, refs), refs

    def contains_batch(self, elements: Any) -> npt.NDArray[np.bool_]:
        """``contains`` for many at once: array (n,) of bool."""
        return self._batch("contains_batch", self._items.many(elements), np.bool_)

    def get(self, ref: int) -> Any:
        """The element of that name: bytes, an array or a scalar, as declared."""
        data = (ctypes.c_char * self._items.size)()
        self._call("get", whole("ref", ref), data)
        return self._items.of(data)


_STRING: np.dtype[Any] = np.dtype(String)

_FIRST_ROOM = 1 << 10
"""Bytes that a get has for a string, until one is longer."""


class Strings(_Searched):
    """Byte strings of any length up to 65536, each once. Nothing is ever deleted. The set grows
    while it is used.

    A string is bytes, a str, which stands for its bytes in UTF-8, or a numpy array or scalar, of
    which the bytes are taken. A batch of them is a list of these, or one array whose rows along
    the first axis are the strings; the rows of one that is C-contiguous are used where they are.

    The arguments are those of ``Set``.
    """

    _kind = "strings"

    def __init__(self, job: Job | Name, buckets: int = 0, *, max_bytes: int = 0, chunk: int = 0,
                 chunks: int = 0, depth: int = 0, access: Access = Access.AUTO) -> None:
        super().__init__(job, lambda: _config(buckets, max_bytes, chunk, chunks, depth, access))

    def find_or_put(self, string: Any) -> Answer:
        """Answer.FOUND or Answer.INSERTED, or FullError."""
        data = bytes_of("string", string)
        return _answers[self._call("find_or_put", data, len(data))]

    def contains(self, string: Any) -> bool:
        """Whether the string is there."""
        data = bytes_of("string", string)
        return bool(self._call("contains", data, len(data)))

    __contains__ = contains

    def find_or_put_batch(self, strings: Many) -> npt.NDArray[np.uint8]:
        """``find_or_put`` for many at once: n strings.

        Returns an array (n,) of uint8, values of ``Answer``. FullError as for ``Set``.
        """
        given = pack("string", strings)
        return self._batch("find_or_put_batch", _in_c(given), np.uint8, None)

    def find_or_put_refs(self, strings: Many) -> \
            tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
        """``find_or_put_batch``, with the name of each string: array (n,) of uint64. A name
        means the same on every rank, also when the set has grown; see ``get``."""
        given = pack("string", strings)
        refs = np.zeros(len(given.sizes), np.uint64)
        return self._batch("find_or_put_batch", _in_c(given), np.uint8, refs), refs

    def contains_batch(self, strings: Many) -> npt.NDArray[np.bool_]:
        """``contains`` for many at once: array (n,) of bool."""
        given = pack("string", strings)
        return self._batch("contains_batch", _in_c(given), np.bool_)

    def get(self, ref: int) -> bytes:
        """The string of that name."""
        name, size, room = whole("ref", ref), ctypes.c_size_t(), _FIRST_ROOM
        while True:
            data = (ctypes.c_char * room)()
            code = self._function("get")(self._handle, name, data, room, ctypes.byref(size))
            if code >= 0:
                return data.raw[:size.value]
            if code != ArgumentError.code or size.value <= room:
                raise self._error(code)
            room = size.value


def _in_c(strings: Packed) -> npt.NDArray[Any]:
    """Strings as the library takes them; what was packed has to stay until it has them."""
    batch = np.zeros(len(strings.sizes), _STRING)
    batch["data"], batch["size"] = strings.addresses, strings.sizes
    return batch
