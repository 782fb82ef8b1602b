"""Sets of words and of byte strings: was this seen before, by anybody?"""

from __future__ import annotations

import ctypes
import enum
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from .abi import BytesConfig, Element, RawSetStats, SetConfig, SetStats
from .errors import ArgumentError, FullError
from .items import Items, size_of, whole
from .job import Job
from .named import Name, Named
from .packed import bytes_of, pack
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


_ELEMENT: np.dtype[Any] = np.dtype(Element)

_FIRST_ROOM = 1 << 10
"""Bytes that a get has for an element of any length, until one is longer."""


class ByteSet(_Searched):
    """Byte strings, each once. Nothing is ever deleted.

    element: how long they are: a number of bytes up to 4096 or a dtype, see ``farhash.items``.
        Without it they have any length up to 65536, which takes more memory and time.
    capacity: elements that there is memory for, 32 bytes each if they have any length; 0 is 15/16
        of buckets.

    The rest is as for ``Set``. If a set by name is there, ``ByteSet.open(name)`` suffices; its
    elements are then bytes.

    An element of any length is bytes, a str, which stands for its bytes in UTF-8, or a numpy array
    or scalar, of which the bytes are taken. A batch of them is a list of these, or one array whose
    rows along the first axis are the elements. Rows of an array that is C-contiguous are used where
    they are, of one length or of any.
    """

    _kind = "bytes"

    def __init__(self, job: Job | Name, element: Any = None, buckets: int = 0, *, capacity: int = 0,
                 max_bytes: int = 0, chunk: int = 0, chunks: int = 0, depth: int = 0,
                 access: Access = Access.AUTO) -> None:
        def configure() -> BytesConfig:
            return BytesConfig(set=_config(buckets, max_bytes, chunk, chunks, depth, access),
                               element_bytes=size_of("element", element, True),
                               capacity=whole("capacity", capacity))

        super().__init__(job, configure)
        if element is None:
            element = self._number("element_bytes") or None
        self._items = None if element is None else Items("element", element)
        size = self._items.size if self._items else None
        # What single calls need, in one place: each look at self takes time. ctypes takes a size of
        # its own faster than an int.
        self._single: tuple[Any, Any, int | None, Any] = (
            self._function("find_or_put"), self._function("contains"), size,
            ctypes.c_size_t(size or 0))

    def _bytes(self, element: Any) -> bytes:
        return self._items.one(element) if self._items else bytes_of("element", element)

    def find_or_put(self, element: Any) -> Answer:
        """Answer.FOUND or Answer.INSERTED, or FullError."""
        put, _, length, size = self._single
        if type(element) is not bytes or len(element) != length:
            element = self._bytes(element)
            size = len(element)
        code: int = put(self._handle, element, size)
        if code < 0:
            raise self._error(code)
        return _answers[code]

    def contains(self, element: Any) -> bool:
        """Whether the element is there."""
        _, has, length, size = self._single
        if type(element) is not bytes or len(element) != length:
            element = self._bytes(element)
            size = len(element)
        code: int = has(self._handle, element, size)
        if code < 0:
            raise self._error(code)
        return bool(code)

    __contains__ = contains

    def _many(self, elements: Any) -> tuple[str, npt.NDArray[Any], Any]:
        """How a batch is called, what the library gets, and what has to stay until it has that."""
        if self._items:
            return "packed", self._items.many(elements), None
        given = pack("element", elements)
        batch = np.zeros(len(given.sizes), _ELEMENT)
        batch["data"], batch["size"] = given.addresses, given.sizes
        return "batch", batch, given

    def find_or_put_batch(self, elements: Any) -> npt.NDArray[np.uint8]:
        """``find_or_put`` for many at once: n elements, of one length an array of them, say uint8
        (n, bytes).

        Returns an array (n,) of uint8, values of ``Answer``. FullError as for ``Set``.
        """
        call, items, _given = self._many(elements)
        return self._batch(f"find_or_put_{call}", items, np.uint8, None)

    def find_or_put_refs(self, elements: Any) -> \
            tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
        """``find_or_put_batch``, with the name of each element: array (n,) of uint64. A name
        means the same on every rank, also when the set has grown; see ``get``."""
        call, items, _given = self._many(elements)
        refs = np.zeros(len(items), np.uint64)
        return self._batch(f"find_or_put_{call}", items, np.uint8, refs), refs

    def contains_batch(self, elements: Any) -> npt.NDArray[np.bool_]:
        """``contains`` for many at once: array (n,) of bool."""
        call, items, _given = self._many(elements)
        return self._batch(f"contains_{call}", items, np.bool_)

    def get(self, ref: int) -> Any:
        """The element of that name: bytes, or an array or a scalar where a dtype was declared."""
        name, size = whole("ref", ref), ctypes.c_size_t()
        room = self._items.size if self._items else _FIRST_ROOM
        while True:
            data = (ctypes.c_char * room)()
            code = self._function("get")(self._handle, name, data, room, ctypes.byref(size))
            if code >= 0:
                return self._items.of(data) if self._items else data.raw[:size.value]
            if code != ArgumentError.code or size.value <= room:
                raise self._error(code)
            room = size.value
