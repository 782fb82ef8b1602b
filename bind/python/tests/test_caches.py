"""Caches, what keys and values may be, and rounding."""

import functools
import math
import os
import tempfile
import time
import unittest

import numpy as np

import farhash
from farhash import Stored
from test_sets import OneRank


class Caches(OneRank):
    def test_bytes(self):
        cache = farhash.Cache(self.job, 4, 6, 100)
        self.assertIsNone(cache.get(b"key0"))
        self.assertIs(cache.put(b"key0", b"value0"), Stored.NEW)
        self.assertIs(cache.put(b"key0", b"v\0lue1"), Stored.UPDATED)
        self.assertEqual(cache.get(b"key0"), b"v\0lue1")
        stats = cache.stats()
        self.assertEqual((stats.misses, stats.inserted, stats.updated, stats.hits),
                         (1, 1, 1, 1))
        self.assertEqual(cache.locate(b"key0")[0], 0)
        self.assertTrue(cache.delete(b"key0"))
        self.assertFalse(cache.delete(b"key0"))
        self.assertIsNone(cache.locate(b"key0"))

    def test_ttl(self):
        cache = farhash.Cache(self.job, "u8", "u8", 100, ttl=math.inf)
        self.assertIs(cache.put(1, 10), Stored.NEW)
        self.assertIs(cache.put(2, 20, ttl=1e-9), Stored.NEW)
        self.assertIs(cache.put(3, 30, ttl=3600), Stored.NEW)
        keys = np.array([4, 5], np.uint64)
        self.assertEqual(cache.put_batch(keys, keys, ttl=1e-9).tolist(), [Stored.NEW] * 2)
        while any(key in cache for key in (2, 4, 5)):
            time.sleep(0.001)
        self.assertEqual((cache.get(1), cache.get(3), len(cache)), (10, 30, 2))
        self.assertEqual((cache.put(2, 21), cache.get(2)), (Stored.NEW, 21))
        for ttl in (-1, math.nan):
            with self.assertRaises(ValueError):
                cache.put(1, 10, ttl=ttl)
            with self.assertRaises(ValueError):
                farhash.Cache(self.job, "u8", "u8", 100, ttl=ttl)
        with self.assertRaisesRegex(farhash.ArgumentError, "do not expire"):
            farhash.Cache(self.job, "u8", "u8", 100).put(1, 10, ttl=1)

    def test_batches_against_a_dict(self):
        for mode in farhash.Mode:
            cache = farhash.Cache(self.job, "u8", ("f4", (2, 3)), 1 << 14, mode=mode)
            random, known = np.random.default_rng(4), {}
            for _ in range(10):
                keys = np.unique(random.integers(0, 2000, 300, np.uint64))
                values = random.random((len(keys), 2, 3), np.float32)
                results = cache.put_batch(keys, values)
                for key, value, result in zip(keys.tolist(), values, results):
                    self.assertEqual(result, Stored.UPDATED if key in known else Stored.NEW)
                    known[key] = value
                asked = random.integers(0, 2000, 300, np.uint64)
                found, hits = cache.get_batch(asked)
                self.assertEqual(hits.tolist(), [key in known for key in asked.tolist()])
                for key, value in zip(asked[hits].tolist(), found[hits]):
                    self.assertTrue((value == known[key]).all())
            key = next(iter(known))
            self.assertTrue((cache.get(key) == known[key]).all())
            self.assertEqual(cache.all_stats()[1].occupied, len(known))
            cache.check()

    def test_like_a_dict(self):
        cache = farhash.Cache(self.job, "i8", ("f8", 2), 100)
        cache[5] = [1, 2]
        self.assertEqual(cache[5].tolist(), [1, 2])
        self.assertEqual((5 in cache, 6 in cache, len(cache), list(cache)), (True, False, 1, [5]))
        ((key, value),) = cache.items()
        self.assertEqual((key.dtype, value.tolist()), (np.int64, [1, 2]))
        self.assertEqual((cache.get(6), cache.get(6, 0), cache.get(5, 0).tolist()),
                         (None, 0, [1, 2]))
        for missing in (lambda: cache[6], lambda: cache.__delitem__(6)):
            with self.assertRaisesRegex(KeyError, "6"):
                missing()
        del cache[5]
        self.assertEqual((len(cache), cache.keys(), cache.values(), bool(cache)),
                         (0, [], [], True))
        cache[7] = [1, 2]
        cache.clear()
        self.assertEqual(list(cache), [])

    def test_keys_of_text(self):
        cache = farhash.Cache(self.job, 4, "i8", 100)
        cache["öde"] = 1
        self.assertEqual((cache["öde"], cache.items()), (1, [("öde".encode(), 1)]))
        with self.assertRaisesRegex(ValueError, "3 bytes; expected are 4"):
            cache["abc"] = 1
        for kind, keys in (("S4", [b"a", "öde".encode()]), ("U3", ["a", "öde"])):
            cache = farhash.Cache(self.job, kind, kind, 100)
            cache.put_batch(["a", "öde"], ["a", "öde"])
            self.assertEqual(sorted(cache), keys)
            self.assertEqual([cache["a"], cache["öde"]], keys)
            self.assertEqual(cache.get_batch(np.array(["öde", "a"]))[0].tolist(), keys[::-1])
            self.assertIn(keys[0], cache)
            with self.assertRaises(TypeError):
                cache["abcde"] = "a"
        for kind in ("f8", "V8"):
            with self.assertRaises(TypeError):
                farhash.Cache(self.job, kind, 8, 100).get("8 signs!")
        elements = farhash.ByteSet(self.job, 4, 100)
        elements.find_or_put("öde")
        self.assertIn("öde", elements)

    def test_it_forgets(self):
        cache = farhash.Cache(self.job, "i8", "i8", 8)
        results = cache.put_batch(np.arange(1000), -np.arange(1000))
        self.assertGreater((results == Stored.EVICTED).sum(), 900)
        values, hits = cache.get_batch(np.arange(1000))
        self.assertTrue(hits.any())
        self.assertTrue((values[hits] == -np.arange(1000)[hits]).all())

    def test_output(self):
        cache = farhash.Cache(self.job, "i8", ("f8", 2), 100)
        cache.put_batch(np.arange(10), np.ones((10, 2)))
        room = np.zeros((10, 2))
        values, hits = cache.get_batch(np.arange(10), room)
        self.assertIs(values, room)
        self.assertTrue(hits.all() and (room == 1).all())
        fixed = np.zeros((10, 2))
        fixed.flags.writeable = False
        for wrong in (np.zeros((10, 4))[:, ::2], np.zeros((10, 2), "f4"), fixed, [1]):
            with self.assertRaises(TypeError):
                cache.get_batch(np.arange(10), wrong)
        for wrong in (np.zeros((9, 2)), np.zeros((10, 3))):
            with self.assertRaises(ValueError):
                cache.get_batch(np.arange(10), wrong)

    def test_rows_of_other_strides_are_copied(self):
        cache = farhash.Cache(self.job, ("f8", 2), "f8", 100)
        wide = np.random.default_rng(5).random((10, 4))
        cache.put_batch(wide[:, ::2], wide[:, 1])
        values, hits = cache.get_batch(np.asfortranarray(wide[:, ::2]))
        self.assertTrue(hits.all() and (values == wide[:, 1]).all())

    def test_update(self):
        cache = farhash.Cache(self.job, "i8", ("f8", 2), 100)
        seen = []

        def add(value, found):
            seen.append((value.tolist(), found))
            return value + 1

        self.assertIs(cache.update(3, add), Stored.NEW)
        self.assertIs(cache.update(3, add), Stored.UPDATED)
        self.assertIsNone(cache.update(3, lambda value, found: None))
        self.assertEqual(cache.get(3).tolist(), [2, 2])
        self.assertEqual(seen, [([0, 0], False), ([1, 1], True)])
        with self.assertRaises(ZeroDivisionError):
            cache.update(3, lambda value, found: 1 // 0)
        with self.assertRaisesRegex(ValueError, "shape"):
            cache.update(3, lambda value, found: np.zeros(3))
        self.assertEqual(cache.get(3).tolist(), [2, 2])

    def test_memoize(self):
        cache = farhash.Cache(self.job, ("f8", 2), "f8", 1000)
        computed = []

        def slow(inputs):
            computed.extend(inputs.tolist())
            return inputs.sum(axis=1)

        fast = cache.memoize(slow, digits=[3, 2])
        inputs = np.array([[1.2341, 5], [1.2339, 5.01], [2, 2], [1.234, 5]])
        self.assertEqual(fast(inputs).tolist(), [6.23, 6.23, 4, 6.23])
        self.assertEqual(sorted(computed), [[1.23, 5], [2, 2]])
        self.assertEqual(fast(inputs[::-1]).tolist(), [6.23, 4, 6.23, 6.23])
        self.assertEqual(fast(inputs[:0]).tolist(), [])
        self.assertEqual(len(computed), 2)
        self.assertEqual(inputs[0, 0], 1.2341)
        with self.assertRaisesRegex(ValueError, "shape"):
            cache.memoize(lambda inputs: np.zeros((len(inputs), 2)))(inputs + 5)
        of_bytes = farhash.Cache(self.job, 16, 8, 1000).memoize(slow, digits=2)
        self.assertEqual(of_bytes(inputs[2:3]).view("f8").tolist(), [[4]])
        self.assertEqual(of_bytes(inputs[2:3]).view("f8").tolist(), [[4]])
        with self.assertRaisesRegex(TypeError, "float64, not uint8"):
            of_bytes(np.zeros((1, 16), np.uint8))
        with self.assertRaisesRegex(ValueError, "3 values"):
            cache.memoize(lambda inputs: np.zeros(3))(inputs + 7)

    def test_memoize_keeps_what_a_function_says(self):
        cache = farhash.Cache(self.job, "f8", "f8", 100)

        def slow(inputs):
            """Takes long."""
            return inputs

        fast = cache.memoize(slow)
        self.assertEqual((fast.__name__, fast.__doc__), ("slow", "Takes long."))
        self.assertIs(fast.__wrapped__, slow)
        self.assertEqual(fast.cache_info(), (0, 0))
        fast(np.array([1.0, 2, 2]))
        fast(np.array([1.0, 3]))
        self.assertEqual(fast.cache_info(), farhash.CacheInfo(hits=1, misses=4))

        @cache.memoize(digits=2)
        def rounded(inputs):
            return inputs

        self.assertEqual(rounded(np.array([4.001, 4.002])).tolist(), [4, 4])
        self.assertEqual((rounded.__name__, rounded.cache_info().misses), ("rounded", 2))
        self.assertEqual(cache.memoize(functools.partial(slow))(np.ones(2)).tolist(), [1, 1])

    def test_files(self):
        cache = farhash.Cache(self.job, "i8", "i8", 1000)
        cache.put_batch(np.arange(100), np.arange(100))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cache")
            cache.save(path)
            other = farhash.Cache(self.job, "i8", "i8", 5000)
            other.load(path)
            self.assertTrue(other.get_batch(np.arange(100))[1].all())
            with open(path, "wb") as file:
                file.write(b"something else")
            with self.assertRaises(farhash.FormatError):
                other.load(path)

    def test_closed(self):
        cache = farhash.Cache(self.job, "i8", "i8", 10)
        cache.close()
        for call in (lambda: cache.get(1), lambda: cache.put(1, 2), lambda: cache.get_batch([1]),
                     lambda: cache.update(1, lambda value, found: 2), cache.stats, cache.check):
            with self.assertRaises(farhash.ClosedError):
                call()

    def test_configurations(self):
        for wrong in ({"buckets": 0}, {"buckets": 9, "choices": 99},
                      {"buckets": 9, "mode": 7}, {"key": 0, "buckets": 9},
                      {"key": 1 << 62, "buckets": 9}):
            with self.assertRaises((farhash.FarhashError, ValueError), msg=wrong):
                farhash.Cache(self.job, **{"key": 8, "value": 8, **wrong})
        for wrong in ("O", "U0", [("a", "O")], "nonsense"):
            with self.assertRaises(TypeError, msg=wrong):
                farhash.Cache(self.job, wrong, 8, 10)


class Kinds(OneRank):
    def test_dtypes_are_not_mixed_up(self):
        cache = farhash.Cache(self.job, ("f8", 2), "f8", 100)
        for wrong in (np.zeros((3, 2), np.int64), np.zeros((3, 2), "f4"),
                      np.zeros((3, 2), ">f8"), [["a", "b"]], [[1, None]], [[1j, 1]]):
            with self.assertRaisesRegex(TypeError, "float64"):
                cache.get_batch(wrong)
        for wrong in (np.zeros((3, 3)), np.zeros(3), np.float64(3), np.zeros((3, 2, 1))):
            with self.assertRaisesRegex(ValueError, "shape"):
                cache.get_batch(wrong)
        with self.assertRaisesRegex(ValueError, "2 keys and 3 values"):
            cache.put_batch(np.zeros((2, 2)), np.zeros(3))

    def test_numbers_are_converted_where_nothing_is_lost(self):
        floats = farhash.Cache(self.job, ("f8", 2), "f4", 100)
        floats.put((1, 2.5), 0.1)
        self.assertEqual(floats.get([1, 2.5]), np.float32(0.1))
        whole = farhash.Cache(self.job, "u2", "i8", 100)
        whole.put(65535, -1)
        self.assertEqual(whole.get(65535), -1)
        for wrong in (65536, -1, 1.5):
            with self.assertRaises(TypeError):
                whole.get(wrong)

    def test_bytes_take_rows_of_any_dtype(self):
        cache = farhash.Cache(self.job, 16, 8, 100)
        rows = np.random.default_rng(6).random((5, 2))
        cache.put_batch(rows, np.arange(5))
        values, hits = cache.get_batch(rows.view(np.uint8))
        self.assertTrue(hits.all())
        self.assertEqual(values.view(np.int64).ravel().tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(cache.get(rows[3]), (3).to_bytes(8, "little"))
        with self.assertRaisesRegex(TypeError, "numpy array"):
            cache.get_batch([[1.0, 2.0]])

    def test_one_number_in_a_row(self):
        cache = farhash.Cache(self.job, ("i8", 1), ("f8", (1,)), 100)
        cache.put([5], [2.5])
        self.assertEqual(cache.get([5]).tolist(), [2.5])
        self.assertEqual(cache.get_batch([[5], [5]])[0].tolist(), [[2.5], [2.5]])

    def test_records(self):
        record = np.dtype([("where", "i4"), ("what", "f8")])
        cache = farhash.Cache(self.job, record, 8, 100)
        keys = np.array([(1, 2.5), (2, 2.5)], record)
        cache.put_batch(keys, np.arange(2))
        self.assertTrue(cache.get_batch(keys)[1].all())
        self.assertEqual(cache.get(keys[1]), (1).to_bytes(8, "little"))


class Rounding(unittest.TestCase):
    def test_digits(self):
        values = np.array([[1.23456, -0.0], [98765.4, math.nan]])
        self.assertEqual(farhash.round_significant(values, 3)[:, 0].tolist(), [1.23, 98800])
        rounded = farhash.round_significant(values, [2, 0], [2, 0])
        self.assertEqual(rounded[:, 0].tolist(), [0, 99000])
        self.assertEqual(math.copysign(1, rounded[0, 1]), 1)
        self.assertEqual(values[0, 0], 1.23456)
        self.assertEqual(farhash.round_significant(2.345, 2), 2.3)
        self.assertEqual(farhash.round_significant([1, 26], 1).tolist(), [1, 30])

    def test_many(self):
        values = np.random.default_rng(7).random((farhash.table.PIECE, 3))
        rounded = farhash.round_significant(values, [1, 2, 20])
        self.assertLess(np.abs(rounded - values)[:, 1].max(), 0.0051)
        self.assertTrue((rounded[:, 2] == values[:, 2]).all())
        self.assertTrue((rounded[-1] == farhash.round_significant(values[-1], [1, 2, 20])).all())

    def test_what_makes_no_sense(self):
        for wrong in (-1, [1, 2, 3]):
            with self.assertRaises(ValueError):
                farhash.round_significant([1.0, 2.0], wrong)
        for wrong in (1.5, "3"):
            with self.assertRaises(TypeError):
                farhash.round_significant([1.0, 2.0], wrong)
        with self.assertRaises(ValueError):
            farhash.round_significant([1.0], 3, -1)
        with self.assertRaises(TypeError):
            farhash.round_significant(["a"], 3)


if __name__ == "__main__":
    unittest.main()
