"""Keys, values and elements: byte strings of one length, as bytes or as numpy arrays.

A kind of item is declared by a number of bytes, or by a dtype, which may have a shape:

==================  ======================  =============================
declared as         one item                n of them
==================  ======================  =============================
``80``              bytes of length 80      array of n rows of 80 bytes
``"u8"``            a uint64                uint64 array (n,)
``("f8", 10)``      float64 array (10,)     float64 array (n, 10)
==================  ======================  =============================

Arrays must have the dtype declared; where a number of bytes is declared, any dtype will do
whose rows have as many. Arrays that are C-contiguous are used where they are, others are copied
once. Bytes, bytearray and memoryview are taken as they are. Numbers, lists and tuples
are converted where nothing but the last digits of a float is lost by it. A str stands for its
bytes in UTF-8 where bytes are declared, and for itself where the dtype is one of strings, such as
``"S16"`` or ``"U16"``, of which it may be shorter.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError

Raw = (bytes, bytearray, memoryview)


class Items:
    """A kind of item. ``what`` is what errors call it."""

    def __init__(self, what: str, declared: Any) -> None:
        self.what = what
        self.free = isinstance(declared, (int, np.integer))
        if self.free and declared < 1:
            raise ValueError(f"farhash: {what}s of {declared} bytes; give 1 or more")
        if self.free:
            declared = ("u1", declared)
        if isinstance(declared, tuple) and isinstance(declared[-1], (int, np.integer)):
            declared = (*declared[:-1], (int(declared[-1]),))  # of numpy's own mind if it is 1
        dtype = np.dtype(declared)
        self.base, self.shape = dtype.subdtype or (dtype, ())
        self.size = dtype.itemsize
        if dtype.hasobject or self.size == 0:
            raise TypeError(f"farhash: {what}s are of a fixed number of bytes, which {dtype} "
                            "is not")

    def __str__(self) -> str:
        return f"{self.size} bytes" if self.free else f"{self.base} {self.shape}"

    def same(self, other: Items) -> bool:
        """Whether both are declared alike."""
        return self.base == other.base and self.shape == other.shape

    def literal(self) -> str:
        """The declaration as a literal of Python, the same on machines of any byte order."""
        if self.free:
            return repr(self.size)
        dtype = np.dtype((self.base, self.shape))
        return repr(dtype.str) if dtype == self.base and not dtype.names else str(dtype)

    def one(self, item: Any) -> bytes:
        """The bytes of one item."""
        if type(item) is bytes and len(item) == self.size:
            return item
        if isinstance(item, str) and (self.free or self.base.kind == "S"):
            item = item.encode()
        if isinstance(item, Raw) and (self.base.kind != "S" or self.shape):
            data = bytes(item)
        elif self.free:
            data = self._array(item, f"the {self.what} has {self}").tobytes()
        else:
            array = self._of_dtype(item)
            if array.shape != self.shape:
                raise self._misfit(f"the {self.what} has shape {array.shape}")
            data = array.tobytes()
        if len(data) != self.size:
            raise self._misfit(f"the {self.what} has {len(data)} bytes")
        return data

    def many(self, items: Any) -> npt.NDArray[Any]:
        """The array of items, C-contiguous; its length is how many there are."""
        if isinstance(items, Raw):
            array = np.frombuffer(items, np.uint8)
            if len(array) % self.size:
                raise self._misfit(f"{len(array)} bytes are no number of {self.what}s")
            return array.reshape(-1, self.size)
        if self.free:
            array = self._array(items, f"{self.what}s have {self} each")
            fits = array.ndim > 0 and array.nbytes == len(array) * self.size
        else:
            array = self._of_dtype(items)
            fits = array.shape[1:] == self.shape and array.ndim > 0
        if not fits:
            raise self._misfit(f"{self.what}s have shape {array.shape} and dtype {array.dtype}")
        return np.ascontiguousarray(array)

    def new(self, n: int) -> npt.NDArray[Any]:
        """An array for n items."""
        return np.empty((n, *self.shape), self.base)

    def room(self, n: int, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """``out`` if n items can be written to it, else a new array."""
        if out is None:
            return self.new(n)
        if not isinstance(out, np.ndarray) or not out.flags.c_contiguous or \
                not out.flags.writeable:
            raise TypeError("farhash: out is no writable C-contiguous array")
        if len(self.many(out)) != n:
            raise ValueError(f"farhash: out has room for {len(out)} {self.what}s, not {n}")
        return out

    def of(self, data: Any) -> Any:
        """One item of its bytes, a ctypes array of char: bytes, an array or a scalar."""
        if self.free:
            return data.raw
        return np.frombuffer(data, self.base).reshape(self.shape)[()]

    def _array(self, item: Any, expected: str) -> npt.NDArray[Any]:
        """An array whose dtype is left to the caller."""
        if isinstance(item, (np.ndarray, np.generic)) and not item.dtype.hasobject:
            return np.asarray(item)
        raise TypeError(f"farhash: {expected}, as bytes or a numpy array, not "
                        f"{_kind(item)}")

    def _of_dtype(self, item: Any) -> npt.NDArray[Any]:
        """An array of the dtype declared."""
        array = np.asarray(item)
        if array.dtype.kind == "U" and self.base.kind == "S":
            array = np.char.encode(array, "utf-8")
        if array.dtype == self.base:
            return array
        if array.dtype.kind == self.base.kind and self.base.kind in "SU" and \
                array.dtype.itemsize <= self.base.itemsize:
            return array.astype(self.base)
        if isinstance(item, (np.ndarray, np.generic)):
            raise TypeError(f"farhash: {self.what}s are {self}, not {array.dtype}; convert by "
                            f".astype({self.base.str!r})")
        if array.dtype.kind in "biuf" and self.base.kind in "biufc":
            converted = array.astype(self.base)
            if self.base.kind in "fc" or np.array_equal(converted, array):
                return converted
        raise TypeError(f"farhash: {self.what}s are {self}; this is none: {_kind(item)}")

    def _misfit(self, found: str) -> ValueError:
        return ValueError(f"farhash: {found}; expected are {self} each")


def size_of(what: str, declared: Any, optional: bool) -> int:
    """The bytes of an item. 0 if none is declared, which is an error where it is not optional."""
    if declared is None and not optional:
        raise TypeError(f"farhash: a number of bytes or a dtype is needed for {what}")
    return 0 if declared is None else Items(what, declared).size


def _kind(item: Any) -> str:
    if isinstance(item, np.ndarray):
        return f"an array of {item.dtype}"
    return f"{type(item).__name__} {item!r:.60}"


def whole(name: str, value: int, bits: int = 64, least: int = 0) -> int:
    """A number that C can hold; ctypes would cut off what is too long."""
    n = operator.index(value)
    if not least <= n < 1 << bits:
        raise ArgumentError(f"farhash: {name} is {n}; give {least} to {(1 << bits) - 1}")
    return n
