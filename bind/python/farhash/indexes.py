"""Indexes: records that are given once, and are read-only then."""

from __future__ import annotations

import ast
import ctypes
import os
from typing import Any, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from .abi import MAX_NOTE, IndexConfig, LookupFunction
from .errors import ArgumentError, FormatError, error_of
from .items import Items, whole
from .job import Job
from .table import PIECE, Access, Table, encoded, of_path, pieces


_NOTE = "numpy "  # how the note begins, in a file, of an index that this package has built


class _Records(NamedTuple):
    """What a rank gives. sizes is None where all values have one size."""

    keys: npt.NDArray[Any]
    values: npt.NDArray[Any]
    sizes: npt.NDArray[np.uint64] | None


class Index(Table):
    """Records of all ranks, built in bulk. A look-up takes one message in most cases. Keys may
    occur again; all records are kept. ::

        index = farhash.Index(job, "u8", ("f8", 3), keys, values)
        values, counts = index.get_batch(asked)

    key, value: what they are: a number of bytes or a dtype, see ``farhash.items``; keys of 4 to 4096
        bytes, values of up to 4096.
    keys, values: the records of this rank: an array of n keys and one of n values. n may differ
        between ranks and be 0.
    variable: values have different sizes: value is the most bytes, and values a list of bytes.
    load: records for each slot; 0 is 0.8.
    max_copies: records with the same key; 0 is any number.
    max_memory_bytes: that building may take on a rank; 0 is no limit.
    depth: look-ups of a batch in flight, where memory is not direct.
    access: how batches reach ranks on other hosts.

    Every rank gives the same, except records. A wrong dtype is a TypeError, a wrong shape a
    ValueError. Collective. ``Index.open`` makes one of a file.
    """

    _kind = "index"

    def __init__(self, job: Job, key: Any, value: Any, keys: Any, values: Any, *,
                 variable: bool = False, load: float = 0, max_copies: int = 0,
                 max_memory_bytes: int = 0, depth: int = 0,
                 access: Access = Access.AUTO) -> None:
        records: list[_Records] = []

        def configure() -> IndexConfig:
            self._declare(key, value, variable)
            config = IndexConfig(
                key_size=self._keys.size, value_size=self._values.size, load=load,
                max_memory_bytes=whole("max_memory_bytes", max_memory_bytes, 63),
                max_copies=whole("max_copies", max_copies), variable=self._variable,
                depth=whole("depth", depth, 31), access=Access(access),
                note=self._note())
            records.append(self._records(keys, values))
            return config

        def build(config: Any, handle: Any) -> int:
            arrays = [a.ctypes.data if a is not None else None for r in records for a in r]
            n = len(records[0].keys) if records else 0
            code: int = self._function("build_batch")(
                job._handle, config, *(arrays or [None] * 3), n, handle)
            return code

        super().__init__(job, configure, build)

    @classmethod
    def open(cls, job: Job, path: str | os.PathLike[str], key: Any = None,
             value: Any = None) -> Index:
        """The index that ``save`` has written. The file is mapped where it can be, so that all
        jobs of a host share its memory; nobody may write to it while it is open.

        key, value: as for ``Index``; None: as the index was declared that has been saved, or bytes
            if another language than Python has built it. A number of bytes gives bytes.
        FileError, FormatError; ArgumentError if the file has other dtypes or sizes. Collective.
        """
        index = cls.__new__(cls)

        def load(config: Any, handle: Any) -> int:
            name = encoded(path) if config is not None else None
            code: int = index._function("load")(job._handle, name, None, handle)
            if code < 0 and config is not None:
                raise of_path(error_of(code, job._library, os.fsdecode(path)), path)
            return code

        def configure() -> IndexConfig:
            for what, declared in (("key", key), ("value", value)):
                if declared is not None:
                    Items(what, declared)
            return IndexConfig()

        Table.__init__(index, job, configure, load)
        try:
            index._identify(path, key, value)
        except Exception:
            index.close()
            raise
        return index

    def _identify(self, path: Any, key: Any, value: Any) -> None:
        """Finds what the records of a file are."""
        sizes, variable = (ctypes.c_uint64 * 2)(), ctypes.c_int32()
        first = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_uint64))
        second = ctypes.cast(ctypes.byref(sizes, 8), ctypes.POINTER(ctypes.c_uint64))
        self._call("sizes", first, second, ctypes.byref(variable))
        saved = self._noted(path) or {"key": sizes[0], "value": sizes[1]}
        self._declare(saved["key"] if key is None else key,
                      saved["value"] if value is None else value, bool(variable.value))
        for items, size in ((self._keys, sizes[0]), (self._values, sizes[1])):
            known = Items(items.what, saved[items.what])
            if items.size != size or not (items.free or known.free or items.same(known)):
                raise ArgumentError(f"farhash: {os.fspath(path)!r} has a {items.what} of "
                                    f"{known}, and {items} are declared")

    def _note(self) -> bytes:
        """What the file says of the dtypes, which the library knows as bytes alone."""
        return (f"{_NOTE}{{'key': {self._keys.literal()}, 'value': {self._values.literal()}}}"
                ).encode()

    def _noted(self, path: Any) -> dict[str, Any] | None:
        """What ``_note`` has said; None if there is no such note."""
        text = ctypes.create_string_buffer(MAX_NOTE + 1)
        self._call("note", text, len(text))
        note = text.value.decode()
        if not note.startswith(_NOTE):
            return None
        try:
            said: dict[str, Any] = ast.literal_eval(note[len(_NOTE):])
            Items("key", said["key"])
            Items("value", said["value"])
        except (ValueError, TypeError, KeyError, SyntaxError) as err:
            raise FormatError(f"farhash: {os.fspath(path)!r} says {note!r:.200} of its dtypes, "
                              "which this package cannot read") from err
        return said

    def _declare(self, key: Any, value: Any, variable: bool) -> None:
        self._keys, self._values = Items("key", key), Items("value", value)
        self._variable = bool(variable)
        if self._variable and not self._values.free:
            raise TypeError("farhash: values of different sizes are bytes; declare value as the "
                            "most bytes, a number")

    def _records(self, keys: Any, values: Any) -> _Records:
        items, sizes = self._keys.many(keys), None
        if self._variable:
            contents, sizes = _padded(values, self._values.size)
        else:
            contents = self._values.many(values)
        if len(items) != len(contents):
            raise ValueError(f"farhash: {len(items)} keys and {len(contents)} values")
        return _Records(items, contents, sizes)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of one record with the key, as declared: bytes, an array or a scalar.
        ``default`` if there is none."""
        value, size = (ctypes.c_char * self._values.size)(), ctypes.c_size_t()
        if self._call("get", self._keys.one(key), value, ctypes.byref(size)) == 0:
            return default
        return value.raw[:size.value] if self._variable else self._values.of(value)

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def get_batch(self, keys: Any, out: npt.NDArray[Any] | None = None) -> \
            tuple[Any, npt.NDArray[np.uint32]]:
        """``get`` for many at once, many times faster.

        keys: array of n keys, used where it is if C-contiguous.
        out: C-contiguous array of n values to write to; a new one if None. Not for values of
            different sizes.
        Returns the array of values, undefined where there is no record, and how many records have
        each key, an array (n,) of uint32. Where values have different sizes they are a list
        of bytes, None where there is no record.
        """
        items = self._keys.many(keys)
        if self._variable and out is not None:
            raise TypeError("farhash: out is not for values of different sizes")
        values = self._values.room(len(items), out)
        sizes = np.zeros(len(items), np.uint64)
        counts = np.zeros(len(items), np.uint32)
        for code in pieces(self._function("get_batch"), self._handle, items, values, sizes,
                           counts):
            if code < 0:
                raise self._error(code)
        if not self._variable:
            return values, counts
        return [row[:size].tobytes() if count else None
                for row, size, count in zip(values, sizes.tolist(), counts)], counts

    def lookup(self, key: Any) -> Any:
        """The values of all records with the key: an array of m values, or a list of bytes where
        they have different sizes."""
        return self.lookup_batch(self._keys.one(key))[1]

    def lookup_batch(self, keys: Any) -> tuple[npt.NDArray[np.int64], Any]:
        """``lookup`` for many at once.

        keys: array of n keys.
        Returns for each of the m records found which key it has, an array (m,) of int64, ascending,
        and the values: an array of m, or a list of bytes where they have different sizes.
        """
        items = self._keys.many(keys)
        which: list[int] = []
        data: list[bytes] = []

        def found(i: int, address: int, size: int, _: int) -> None:
            which.append(begin + i)
            data.append(ctypes.string_at(address, size))

        function = LookupFunction(found)
        for begin in range(0, len(items) or 1, PIECE):
            some = items[begin:begin + PIECE]
            self._call("lookup", some.ctypes.data, len(some), function, None)
        order = np.argsort(np.array(which, np.int64), kind="stable")
        sorted_data = [data[i] for i in order]
        positions = np.array(which, np.int64)[order]
        if self._variable:
            return positions, sorted_data
        values = np.frombuffer(b"".join(sorted_data), self._values.base)
        return positions, values.reshape(len(positions), *self._values.shape)

    def __len__(self) -> int:
        """How many records all ranks have."""
        return self._number("len")

    def __bool__(self) -> bool:
        return True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for ``Index.open``, by any number of ranks. ``path`` is the same file on
        every rank. Collective. FileError."""
        self._file("save", path)


def _padded(values: Sequence[Any], size: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
    """Byte strings in rows of so many bytes, and how long each is."""
    each = [bytes(v) if isinstance(v, (bytes, bytearray, memoryview)) else None for v in values]
    if None in each:
        raise TypeError("farhash: values of different sizes are a list of bytes")
    sizes = np.fromiter((len(v) for v in each if v is not None), np.uint64, len(each))
    if len(each) and sizes.max() > size:
        raise ValueError(f"farhash: a value has {sizes.max()} bytes; declared are {size} at most")
    rows = b"".join(v.ljust(size, b"\0") for v in each if v is not None)
    return np.frombuffer(rows, np.uint8).reshape(len(each), size), sizes
