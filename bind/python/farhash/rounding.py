"""Rounding of inputs, so that nearly equal ones become one key."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import error_of
from .library import load
from .table import PIECE


def round_significant(values: npt.ArrayLike, digits: npt.ArrayLike,
                      floors: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
    """A copy of values with so many significant decimal digits.

    values: float64 array of any shape.
    digits: one for all, or integers that broadcast to the shape of values, say one for each
        column. 0, or more than 16, leaves a value as it is.
    floors: likewise; a magnitude below its floor becomes 0.

    -0 becomes 0, and every NaN the same. ArgumentError if digits or floors are negative.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8:
        raise TypeError(f"farhash: values to round are float64, not {given.dtype}")
    rounded = np.array(given, np.float64, order="C")
    figures = _each(digits, rounded.shape, np.int32, "digits")
    least = _each([] if floors is None else floors, rounded.shape, np.float64, "floors")
    library = load()
    flat = rounded.reshape(-1)
    for begin in range(0, flat.size, PIECE):
        piece = flat[begin:begin + PIECE]
        few, low = _part(figures, begin), _part(least, begin)
        code = library.farhash_round(piece.ctypes.data, piece.size, few.ctypes.data, few.size,
                                     low.ctypes.data, low.size)
        if code < 0:
            raise error_of(code, library)
    return rounded


def _each(given: Any, shape: Any, dtype: Any, what: str) -> npt.NDArray[Any]:
    """One number for all (or none), or one for each value."""
    numbers = np.asarray(given)
    if numbers.size and numbers.dtype.kind not in ("iu" if dtype == np.int32 else "iuf"):
        raise TypeError(f"farhash: {what} are {numbers.dtype}, not numbers of type "
                        f"{np.dtype(dtype)}")
    if dtype == np.int32:
        numbers = np.clip(numbers, -1, 100)  # more than 16 are all the same
    if numbers.size > 1:
        numbers = np.broadcast_to(numbers, shape)
    return np.ascontiguousarray(numbers, dtype).reshape(-1)


def _part(numbers: npt.NDArray[Any], begin: int) -> npt.NDArray[Any]:
    return numbers if numbers.size <= 1 else numbers[begin:begin + PIECE]
