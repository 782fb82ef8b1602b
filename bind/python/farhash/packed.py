"""Byte strings of any length, where C finds them."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence, Union

import numpy as np
import numpy.typing as npt

from .items import Raw

Many = Union[Sequence[Any], npt.NDArray[Any]]


class Packed(NamedTuple):
    """Byte strings where C finds them. memory keeps them alive."""

    memory: Any
    addresses: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.uint64]


def bytes_of(what: str, item: Any) -> bytes:
    """The bytes of one key or value."""
    if type(item) is bytes:
        return item
    if isinstance(item, str) and what != "value":
        return item.encode()
    if isinstance(item, Raw):
        return bytes(item)
    if isinstance(item, (np.ndarray, np.generic)) and not item.dtype.hasobject:
        return item.tobytes()
    raise TypeError(f"farhash: {what}s are bytes or numpy arrays or scalars, not "
                    f"{type(item).__name__} {item!r:.60}")


def pack(what: str, items: Any) -> Packed:
    """Many keys or values."""
    if isinstance(items, np.ndarray) and items.dtype.kind == "U" and what != "value":
        items = items.tolist()  # what rows of it have in memory is no UTF-8
    if isinstance(items, np.ndarray) and not items.dtype.hasobject and items.ndim > 0:
        rows = np.ascontiguousarray(items)
        size = rows.nbytes // max(1, len(rows))
        return Packed(rows, addresses(rows, len(rows)), np.full(len(rows), size, np.uint64))
    if isinstance(items, (*Raw, str, np.ndarray, np.generic)):
        raise TypeError(f"farhash: {what}s are a list of bytes or a numpy array of rows, not "
                        f"{type(items).__name__} {items!r:.60}")
    each = [bytes_of(what, item) for item in items]
    memory = np.frombuffer(b"".join(each), np.uint8)
    sizes = np.fromiter(map(len, each), np.uint64, len(each))
    ends = np.cumsum(sizes, dtype=np.uint64)
    return Packed(memory, np.uint64(memory.ctypes.data) + ends - sizes, sizes)


def addresses(array: npt.NDArray[Any], n: int) -> npt.NDArray[np.uint64]:
    """The addresses of the first n rows."""
    size = array.nbytes // max(1, len(array))
    return np.uint64(array.ctypes.data) + np.arange(n, dtype=np.uint64) * np.uint64(size)
