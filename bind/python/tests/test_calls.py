"""Results of functions of any arguments."""

import asyncio
import cmath
import collections
import dataclasses
import fractions
import functools
import math
import os
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import numpy as np

import farhash
from farhash.calls import _encoded
from test_library import PACKAGE
from test_sets import OneRank

calls = []


@dataclasses.dataclass
class Point:
    x: float
    tags: set


def record(*args, **kwargs):
    """Notes its arguments."""
    calls.append((args, kwargs))
    return [args, kwargs]


def scale(values, factor=1):
    calls.append(factor)
    return values * factor


def scale_point(self, factor):
    return factor * self.x


class Calls(OneRank):
    def setUp(self):
        super().setUp()
        calls.clear()
        self.cache = farhash.Cache(self.job, 32, 600, 1000)

    def test_anything(self):
        fast = self.cache.memoize(record, pickled=True)
        self.assertEqual((fast.__name__, fast.__doc__), ("record", "Notes its arguments."))
        for args, kwargs in (((), {}), ((None, True, 1, 1.5, 2j, "ä", b"b"), {}), ((1,), {"a": 2}),
                             (([1, [2]], {"k": {3, 4}}), {}), ((fractions.Fraction(1, 3),), {}),
                             ((collections.deque([1, 2]),), {}), ((len, Point), {}),
                             ((collections.OrderedDict(a=1),), {})):
            calls.clear()
            first = fast(*args, **kwargs)
            self.assertEqual(first, [args, kwargs])
            self.assertEqual(fast(*args, **kwargs), first)
            self.assertEqual(len(calls), 1, args)

    def test_decorator(self):
        @self.cache.memoize(pickled=True, name="double")
        def double(x):
            """Doubles."""
            calls.append(x)
            return 2 * x

        self.assertEqual((double(4), double(4), double("a")), (8, 8, "aa"))
        self.assertEqual(calls, [4, "a"])
        self.assertEqual(double.cache_info(), farhash.CacheInfo(hits=1, misses=2))
        self.assertEqual((double.__name__, double.__doc__, double.__wrapped__(5)),
                         ("double", "Doubles.", 10))
        self.cache.clear()
        self.assertEqual((double(4), double.cache_info().misses), (8, 3))

    def test_methods(self):
        with unittest.mock.patch.object(Point, "scaled", self.cache.memoize(
                scale_point, pickled=True), create=True):
            self.assertEqual([Point(x, set()).scaled(3) for x in (1.0, 2.0, 1.0)], [3, 6, 3])
            self.assertEqual(Point.scaled.cache_info(), (1, 2))

    def test_equal_arguments_are_one_key(self):
        fast = self.cache.memoize(record, pickled=True)
        fast(Point(1.0, {"a", "b"}), np.arange(6).reshape(2, 3), ["ab", "ab"], b=1, a=2)
        fast(Point(1.0, {"b", "a"}), np.asfortranarray(np.arange(6).reshape(2, 3)),
             ["ab", "".join(["a", "b"])], a=2, b=1)
        self.assertEqual(len(calls), 1)

    def test_other_arguments_are_other_keys(self):
        point = Point(1.0, set())
        point.extra = 1
        values = [None, 0, False, 0.0, -0.0, 0j, "", b"", (), [], {}, set(), frozenset(), "0", b"0",
                  bytearray(b"0"), (0,), [0], {0: 0}, {0}, ((),), ((), ()), ("a", "b"), ("ab",),
                  np.int32(0), np.int64(0), np.zeros(1), np.zeros(1, int), np.zeros((1, 1)),
                  np.zeros(0), Point(1.0, set()), Point(2.0, set()), Point(1.0, {1}), point, Point,
                  len, functools.partial(len), collections.deque(), collections.deque([0]),
                  fractions.Fraction(0), "a".join, "b".join, Point(1.0, set()).__eq__, 1 << 50000,
                  np.ma.array([0.0], mask=[True]), np.ma.array([0.0], mask=[False]), np.sin, np.cos,
                  math.sin, cmath.sin]
        self.assertEqual(len({_encoded(value) for value in values}), len(values))

    def test_digests_do_not_depend_on_the_process(self):
        program = ("from farhash.calls import _encoded; import hashlib; print(hashlib.sha256("
                   "_encoded(({'a', 'b', 'c'}, {'x': 1, 'y': frozenset('pqr')}))).hexdigest())")
        said = {subprocess.run([sys.executable, "-c", program], text=True, check=True,
                               stdout=subprocess.PIPE, env={
                                   **os.environ, "PYTHONPATH": PACKAGE,
                                   "PYTHONHASHSEED": str(seed)}).stdout for seed in range(1, 4)}
        self.assertEqual(len(said), 1)

    def test_too_large(self):
        fast = self.cache.memoize(scale, pickled=True)
        with self.assertWarnsRegex(RuntimeWarning, "room for 596"):
            self.assertEqual(len(fast(np.zeros(1000))), 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fast(np.zeros(1000))
            fast(np.zeros(10))
            fast(np.zeros(10))
        self.assertEqual((fast.too_large, len(calls)), (2, 3))

    def test_functions_are_told_apart(self):
        one = self.cache.memoize(record, pickled=True)
        two = self.cache.memoize(scale, pickled=True)
        self.assertNotEqual(one(5), two(5))
        with self.assertRaisesRegex(ValueError, "name="):
            self.cache.memoize(lambda x: x, pickled=True)
        for wrong in ("a".join, Point(1, set()).__eq__, functools.partial(record)):
            with self.assertRaisesRegex(ValueError, "name="):
                self.cache.memoize(wrong, pickled=True)
        named = self.cache.memoize(lambda x: x + 1, pickled=True, name="next")
        self.assertEqual((named(5), named(5)), (6, 6))

    def test_edited_functions_have_no_results(self):
        made = {}
        for text in ("lambda x: x + 1", "lambda x: x + 2", "lambda x: x - 1",
                     "lambda x, y=1: x + y", "lambda x, y=2: x + y", "lambda x, *, y=2: x + y", "lambda x, *, y=3: x + y",
                     "lambda x, *, z=3: x + z", "lambda x: [y + 1 for y in (x,)]",
                     "lambda x: [y + 2 for y in (x,)]", "lambda x: len(str(x))",
                     "lambda x: max(str(x))", "lambda x: (lambda y: y * 3)(x)",
                     "lambda x: (lambda y: y * 4)(x)",
                     "functools.partial(lambda y, x: y + x, 1)",
                     "functools.partial(lambda y, x: y + x, 2)",
                     "functools.wraps(scale)(lambda x: record(x))",
                     "functools.wraps(record)(lambda x: record(x))"):
            for source in (text, f"(\n\n{text})"):  # elsewhere in a file
                function = eval(source, globals())
                made.setdefault(text, set()).add(
                    self.cache.memoize(function, pickled=True, name="f")._key((5,), {}))
        self.assertEqual([len(keys) for keys in made.values()], [1] * len(made))
        self.assertEqual(len(set.union(*made.values())), len(made))

    def test_code_does_not_depend_on_the_process(self):
        program = ("from farhash.calls import _code_of; import hashlib\n"
                   "def f(x, y=frozenset('abc')): return x in {'p', 'q', 'r', 's'}, lambda: y\n"
                   "print(hashlib.sha256(_code_of(f)).hexdigest())")
        said = {subprocess.run([sys.executable, "-c", program], text=True, check=True,
                               stdout=subprocess.PIPE, env={
                                   **os.environ, "PYTHONPATH": PACKAGE,
                                   "PYTHONHASHSEED": str(seed)}).stdout for seed in range(1, 4)}
        self.assertEqual(len(said), 1)

    def test_coroutine_functions(self):
        @self.cache.memoize(pickled=True, name="later")
        async def later(x):
            """Later."""
            await asyncio.sleep(0)
            calls.append(x)
            if x < 0:
                raise ValueError(x)
            return 2 * x

        async def ask():
            return [await later(4), await later(4), *await asyncio.gather(later(4), later(5))]

        self.assertEqual(asyncio.run(ask()), [8, 8, 8, 10])
        self.assertEqual((calls, later.cache_info()), ([4, 5], (2, 2)))
        self.assertTrue(asyncio.iscoroutinefunction(later))
        for _ in range(2):
            with self.assertRaises(ValueError):
                asyncio.run(later(-1))
        self.assertEqual(calls, [4, 5, -1, -1])
        with self.assertRaisesRegex(TypeError, "is async"):
            farhash.Cache(self.job, "u8", "u8", 10).memoize(later.__wrapped__)

    def test_generators(self):
        def some():
            yield 1

        async def some_later():
            yield 1

        for function in (some, some_later):
            with self.assertRaisesRegex(TypeError, "return a list"):
                self.cache.memoize(function, pickled=True, name="some")

    def test_what_a_function_raises(self):
        fast = self.cache.memoize(scale, pickled=True)
        with self.assertRaises(TypeError):
            fast(None)
        with self.assertRaises(TypeError):
            fast(None)
        self.assertEqual(len(calls), 2)

    def test_what_makes_no_sense(self):
        for key, value in ((8, 600), (32, 4), ("u8", 600), (32, "f8")):
            with self.assertRaisesRegex(TypeError, "cache of bytes"):
                farhash.Cache(self.job, key, value, 10).memoize(record, pickled=True)
        with self.assertRaises(TypeError):
            self.cache.memoize(record, pickled=True, digits=3)
        fast = self.cache.memoize(record, pickled=True)
        ring = []
        ring.append(ring)
        with self.assertRaisesRegex(TypeError, "contains itself"):
            fast(ring)
        with self.assertRaises(TypeError):
            fast(i for i in ())
        with self.assertRaisesRegex(ValueError, "name"):
            fast(lambda: 1)
        self.assertEqual(calls, [])


if __name__ == "__main__":
    unittest.main()
