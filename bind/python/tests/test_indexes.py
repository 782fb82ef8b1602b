"""Indexes."""

import os
import tempfile
import unittest
import unittest.mock

import numpy as np

import farhash
from test_sets import OneRank


class Indexes(OneRank):
    def test_arrays(self):
        random = np.random.default_rng(21)
        keys, values = random.permutation(3000)[:2000], random.random((2000, 3))
        index = farhash.Index(self.job, "i8", ("f8", 3), keys, values)
        self.assertEqual(len(index), 2000)
        found, counts = index.get_batch(np.arange(3000))
        self.assertEqual(counts.tolist(), np.isin(np.arange(3000), keys).tolist())
        self.assertTrue((found[keys] == values).all())
        room = np.zeros((2, 3))
        self.assertIs(index.get_batch(keys[:2], room)[0], room)
        self.assertTrue((room == values[:2]).all())
        self.assertTrue((index.get(keys[7]) == values[7]).all())
        self.assertIn(keys[7], index)
        self.assertIsNone(index.get(-1))
        self.assertEqual(index.get(-1, "none"), "none")
        self.assertEqual(index.get_batch([])[1].tolist(), [])
        index.check()

    def test_bytes(self):
        index = farhash.Index(self.job, 4, 2, b"key0key1", b"abcd")
        self.assertEqual((index.get(b"key1"), index.get(b"key2")), (b"cd", None))
        for raw in (bytearray, memoryview):
            self.assertEqual(index.get(raw(b"key1")), b"cd")
        empty = farhash.Index(self.job, 4, 2, b"", b"")
        self.assertEqual(len(empty), 0)
        self.assertTrue(empty)

    def test_bytes_of_numbers(self):
        index = farhash.Index(self.job, "<i8", "i4", [5, 6], np.arange(2, dtype="i4"))
        for raw in (bytes, bytearray, memoryview):
            self.assertEqual(index.get(raw((6).to_bytes(8, "little"))), 1)
            with self.assertRaisesRegex(ValueError, "the key has 7 bytes"):
                index.get(raw(bytes(7)))

    def test_keys_that_occur_again(self):
        keys = np.array([5, 7, 5, 5, 9])
        index = farhash.Index(self.job, "i8", "i4", keys, np.arange(5, dtype="i4"))
        self.assertEqual(index.get_batch([9, 5, 6])[1].tolist(), [1, 3, 0])
        self.assertEqual(sorted(index.lookup(5).tolist()), [0, 2, 3])
        self.assertEqual(index.lookup(6).shape, (0,))
        which, values = index.lookup_batch([6, 5, 9, 7])
        self.assertEqual(which.tolist(), [1, 1, 1, 2, 3])
        self.assertEqual(sorted(values[:3].tolist()) + values[3:].tolist(), [0, 2, 3, 4, 1])
        with self.assertRaises(farhash.FarhashError):
            farhash.Index(self.job, "i8", "i4", keys, np.arange(5, dtype="i4"), max_copies=2)

    def test_values_of_different_sizes(self):
        values = [b"", b"a", b"\0" * 9, b"abcdefghij"]
        index = farhash.Index(self.job, "i8", 10, np.arange(4), values, variable=True)
        self.assertEqual([index.get(i) for i in range(5)], [*values, None])
        found, counts = index.get_batch(np.arange(5))
        self.assertEqual(found, [*values, None])
        self.assertEqual(counts.tolist(), [1, 1, 1, 1, 0])
        self.assertEqual(index.lookup(3), [b"abcdefghij"])
        with self.assertRaises(TypeError):
            index.get_batch(np.arange(5), np.zeros((5, 10), np.uint8))
        with self.assertRaisesRegex(ValueError, "11 bytes"):
            farhash.Index(self.job, "i8", 10, [1], [bytes(11)], variable=True)
        with self.assertRaises(TypeError):
            farhash.Index(self.job, "i8", 10, [1], ["text"], variable=True)
        with self.assertRaises(TypeError):
            farhash.Index(self.job, "i8", "f8", [1], [b""], variable=True)

    def test_files(self):
        keys = np.arange(100)
        index = farhash.Index(self.job, "i8", ("f8", 2), keys, np.ones((100, 2)))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wörter")
            index.save(path)
            with farhash.Index.open(self.job, path, "i8", ("f8", 2)) as other:
                self.assertEqual(len(other), 100)
                self.assertEqual(other.get(7).tolist(), [1, 1])
            with farhash.Index.open(self.job, path, 8, 16) as other:
                self.assertEqual(other.get((7).to_bytes(8, "little")), np.ones(2).tobytes())
            with self.assertRaisesRegex(farhash.ArgumentError, r"float64 \(2,\), and float64 \(\)"):
                farhash.Index.open(self.job, path, "i8", "f8")
            with self.assertRaises(TypeError):
                farhash.Index.open(self.job, path, "O")
            with self.assertRaises(farhash.FileError):
                farhash.Index.open(self.job, os.path.join(folder, "none"))
            with self.assertRaisesRegex(farhash.ArgumentError, "NUL"):
                farhash.Index.open(self.job, "a\0b")
            with open(path, "r+b") as file:
                file.write(b"something else")
            with self.assertRaises(farhash.FormatError):
                farhash.Index.open(self.job, path)

    def test_files_keep_dtypes(self):
        record = np.dtype([("where", ">i4"), ("what's", "f8", (2,)), ("when", "M8[s]")])
        aligned = np.dtype([("a", "u1"), ("b", "i8")], align=True)
        kinds = ("i8", 8, ("f8", 2), ("i8", 1), (">u2", (2, 3)), "S6", "U3", "c16", record, aligned,
                 (record, 2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index")
            for kind in kinds:
                items = farhash.items.Items("value", kind)
                zeros = np.zeros((3, *items.shape), items.base)
                for key, value, keys, values in (("i8", kind, np.arange(3), zeros),
                                                 (kind, "i8", zeros, np.arange(3))):
                    farhash.Index(self.job, key, value, keys, values).save(path)
                    for _ in range(2):
                        with farhash.Index.open(self.job, path) as index:
                            found, counts = index.get_batch(keys[:1])
                            self.assertGreater(counts[0], 0)
                            self.assertEqual(found.dtype, values.dtype)
                            self.assertEqual(found.shape[1:], values.shape[1:])
                            index.save(path)  # keeps them, too
                    farhash.Index.open(self.job, path, key, value).close()
            farhash.Index(self.job, "i8", "f8", [1], [2.5]).save(path)
            for key, value in (("u8", None), (None, "i8"), (">i8", "f8"), (("i8", 1), "f8"),
                               ("S8", 8)):
                with self.assertRaisesRegex(farhash.ArgumentError, "are declared"):
                    farhash.Index.open(self.job, path, key, value)
            self.assertEqual(farhash.Index.open(self.job, path, value=8).get(1),
                             np.float64(2.5).tobytes())
            farhash.Index(self.job, "i8", 9, [1], [b"bytes"], variable=True).save(path)
            self.assertEqual(farhash.Index.open(self.job, path).get(1), b"bytes")

    def test_notes_of_others(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index")
            for note in (b"", b"a note of a program in C"):
                with unittest.mock.patch.object(farhash.Index, "_note", lambda _: note):
                    farhash.Index(self.job, "i8", "f8", [1], [2.5]).save(path)
                with farhash.Index.open(self.job, path) as index:
                    self.assertEqual(index.get((1).to_bytes(8, "little")),
                                     np.float64(2.5).tobytes())
                with farhash.Index.open(self.job, path, "i8", "f8") as index:
                    self.assertEqual(index.get(1), 2.5)
            for note in (b"numpy {", b"numpy {'key': 8}", b"numpy {'key': 'nonsense', 'value': 8}"):
                with unittest.mock.patch.object(farhash.Index, "_note", lambda _: note):
                    farhash.Index(self.job, "i8", "f8", [1], [2.5]).save(path)
                with self.assertRaisesRegex(farhash.FormatError, "dtypes"):
                    farhash.Index.open(self.job, path)

    def test_what_makes_no_sense(self):
        for key, value, keys, values, wrong in (
                ("i8", "i8", [1, 2], [1], ValueError), ("i8", "i8", [1.5], [1], TypeError),
                ("i8", "O", [1], [1], TypeError), (3, 8, b"abc", bytes(8), ValueError),
                ("i8", 5000, [1], bytes(5000), ValueError),
                ("i8", ("i8", 2), [1], [1], ValueError)):
            with self.assertRaises(wrong):
                farhash.Index(self.job, key, value, keys, values)
        with self.assertRaisesRegex(farhash.ArgumentError, "load"):
            farhash.Index(self.job, "i8", "i8", [1], [1], load=2)

    def test_closed(self):
        index = farhash.Index(self.job, "i8", "i8", [1], [1])
        index.close()
        for call in (lambda: index.get(1), lambda: index.get_batch([1]), index.check,
                     lambda: index.lookup(1), lambda: len(index), lambda: index.save("x")):
            with self.assertRaises(farhash.ClosedError):
                call()


class Ranks(unittest.TestCase):
    def test_records_of_all_ranks(self):
        def rank(job):
            mine = np.arange(100) if job.rank == 1 else np.zeros(0, np.int64)
            index = farhash.Index(job, "i8", "i8", mine, mine + 5)
            assert (index.get_batch(np.arange(100))[0] == np.arange(100) + 5).all()
            job.barrier()
        farhash.run(rank, 3)

    def test_other_dtypes_of_one_rank(self):
        def rank(job):
            with self.assertRaisesRegex(farhash.FarhashError, "dtypes|rank"):
                farhash.Index(job, "iu"[job.rank] + "8", "i8", [], [])
        farhash.run(rank, 2)

    def test_wrong_records_of_one_rank(self):
        def rank(job):
            try:
                farhash.Index(job, "i8", "i8", np.arange(3 - job.rank), np.arange(3))
            except (ValueError, farhash.RankError) as err:
                return type(err)
        self.assertEqual(farhash.run(rank, 2), [farhash.RankError, ValueError])


if __name__ == "__main__":
    unittest.main()
