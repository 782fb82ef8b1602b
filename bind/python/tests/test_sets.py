"""Sets of words and of byte strings."""

import copy
import inspect
import os
import pickle
import tempfile
import unittest

import numpy as np

import farhash
from farhash import Answer, abi
from farhash.errors import NAMES


class OneRank(unittest.TestCase):
    def setUp(self):
        self.job = farhash.Job.join()
        self.addCleanup(self.job.close)


class Words(OneRank):
    def test_against_a_set_of_python(self):
        words = farhash.Set(self.job, 1 << 14)
        random, known = np.random.default_rng(3), set()
        for _ in range(30):
            batch = random.integers(0, 3000, 400)
            results = words.find_or_put_batch(batch)
            for word in set(batch.tolist()):  # one that occurs twice may be inserted by either
                expected = [Answer.FOUND] * np.count_nonzero(batch == word)
                if word not in known:
                    expected[0] = Answer.INSERTED
                found = sorted(results[batch == word].tolist(), reverse=True)
                self.assertEqual(found, expected)
                known.add(word)
            asked = random.integers(0, 3000, 100).astype(np.uint64)
            self.assertEqual(words.contains_batch(asked).tolist(),
                             [word in known for word in asked.tolist()])
        self.assertEqual(len(words), len(known))
        self.assertEqual(words.stats().inserted, len(known))
        words.check()

    def test_one_at_a_time(self):
        words = farhash.Set(self.job, 64)
        self.assertIs(words.find_or_put(7), Answer.INSERTED)
        self.assertIs(words.find_or_put(np.uint64(7)), Answer.FOUND)
        self.assertIn(7, words)
        self.assertNotIn(8, words)
        self.assertIs(words.find_or_put((1 << 63) - 1), Answer.INSERTED)

    def test_words_that_are_none(self):
        words = farhash.Set(self.job, 64)
        for wrong in (-1, 1 << 63, (1 << 64) + 5):
            with self.assertRaises(farhash.ArgumentError):
                words.find_or_put(wrong)
        with self.assertRaises(TypeError):
            words.find_or_put(1.5)
        for wrong in (np.zeros(2), np.zeros(2, np.int32), [1.5], ["a"]):
            with self.assertRaisesRegex(TypeError, "uint64"):
                words.find_or_put_batch(wrong)
        with self.assertRaisesRegex(ValueError, r"shape \(2, 2\)"):
            words.find_or_put_batch(np.zeros((2, 2), np.uint64))
        with self.assertRaises(farhash.FarhashError):
            words.find_or_put_batch([3, -4])

    def test_arrays_are_used_where_they_are_or_copied(self):
        words = farhash.Set(self.job, 1 << 10)
        every = np.arange(100, dtype=np.uint64)
        self.assertEqual(words.find_or_put_batch(every[::2]).tolist(), [2] * 50)
        self.assertEqual(words.contains_batch(every).tolist(), [True, False] * 50)
        every.flags.writeable = False
        self.assertTrue(words.contains_batch(every[:1])[0])
        for nothing in ([], np.zeros(0, np.uint64)):
            self.assertEqual(words.find_or_put_batch(nothing).tolist(), [])

    def test_longer_than_a_piece(self):
        words = farhash.Set(self.job, 1 << 20)
        n = farhash.table.PIECE + 10
        self.assertTrue((words.find_or_put_batch(np.arange(n)) == Answer.INSERTED).all())
        self.assertTrue(words.contains_batch(np.arange(n)).all())
        self.assertEqual(len(words), n)

    def test_full(self):
        words = farhash.Set(self.job, 64)
        with self.assertRaisesRegex(farhash.FullError, "load") as caught:
            words.find_or_put_batch(np.arange(100))
        results = caught.exception.results
        self.assertEqual((results == Answer.INSERTED).sum(), 64)
        self.assertEqual((results == Answer.FULL).sum(), 36)
        with self.assertRaises(farhash.FullError):
            words.find_or_put(int(np.flatnonzero(results == Answer.FULL)[0]))

    def test_files(self):
        words = farhash.Set(self.job, 256)
        words.find_or_put_batch(np.arange(100))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wörter")
            words.save(path)
            other = farhash.Set(self.job, 512)
            other.load(path)
            self.assertEqual(len(other), 100)
            with self.assertRaises(farhash.FileError):
                words.load(os.path.join(folder, "none"))
            with open(path, "r+b") as file:
                file.truncate(50)
            with self.assertRaises(farhash.FormatError):
                words.load(path)

    def test_paths_with_a_nul(self):
        words = farhash.Set(self.job, 64)
        with tempfile.TemporaryDirectory() as folder:
            for call in (words.save, words.load):
                for path in (os.path.join(folder, "a\0b"), "\0"):
                    with self.assertRaisesRegex(farhash.ArgumentError, "NUL"):
                        call(path)
            with self.assertRaisesRegex(farhash.ArgumentError, "empty"):
                words.save("")
            self.assertEqual(os.listdir(folder), [])
        words.close()
        with self.assertRaises(farhash.ClosedError):
            words.save("a\0b")

    def test_paths_stay_as_they_are(self):
        words = farhash.Set(self.job, 64)
        with self.assertRaisesRegex(farhash.FileError, "key_size/Buckets/FARHASH_FINE"):
            words.load("key_size/Buckets/FARHASH_FINE")

    def test_closed_elements(self):
        elements, strings = farhash.ByteSet(self.job, 4, 64), farhash.ByteSet(self.job)
        for table, batch in ((elements, b"abcd"), (strings, [b"abcd"])):
            table.close()
            for call in (table.check, table.stats, table.__len__,
                         lambda: table.find_or_put(b"abcd"), lambda: b"abcd" in table,
                         lambda: table.find_or_put_batch(batch),
                         lambda: table.contains_batch(batch)):
                with self.assertRaisesRegex(farhash.ClosedError, "closed"):
                    call()

    def test_closed(self):
        with farhash.Set(self.job, 64) as words:
            self.assertFalse(words.closed)
        words.close()
        other = farhash.Set(self.job, 64)
        self.job.close()
        for table in (words, other):
            self.assertTrue(table.closed)
            self.assertIn("closed", repr(table))
            for call in (table.check, table.stats, table.__len__, lambda: table.find_or_put(1),
                         lambda: table.find_or_put_batch([1]), lambda: table.contains_batch([]),
                         lambda: 1 in table):
                with self.assertRaisesRegex(farhash.ClosedError, "closed"):
                    call()
        for call in (self.job.barrier, lambda: self.job.rank, lambda: farhash.Set(self.job, 64)):
            with self.assertRaisesRegex(farhash.ClosedError, "closed"):
                call()

    def test_no_copies(self):
        for one in (self.job, farhash.Set(self.job, 64)):
            for of in (copy.copy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "each rank"):
                    of(one)

    def test_configurations(self):
        with self.assertRaisesRegex(TypeError, "Job"):
            farhash.Set(None, 64)
        words = farhash.Set(self.job, 1000, chunk=16, chunks=8)
        self.assertEqual(words.buckets, 1000)
        for wrong in ({"buckets": -1}, {"buckets": 64, "chunk": 7},
                      {"buckets": 64, "depth": -1}):
            with self.assertRaises(farhash.FarhashError, msg=wrong):
                farhash.Set(self.job, **wrong)


    def test_growth(self):
        words = farhash.Set(self.job)
        answers = words.find_or_put_batch(np.arange(200000, dtype=np.uint64))
        self.assertTrue((answers == farhash.Answer.INSERTED).all())
        self.assertEqual(len(words), 200000)
        words.check()
        with self.assertRaisesRegex(farhash.ArgumentError, "max_bytes"):
            farhash.Set(self.job, 64, max_bytes=1)


class Names(OneRank):
    def test_errors_name_parameters(self):
        """What an error names is a parameter of the class, or is translated."""
        structs = {farhash.Set: [abi.SetConfig], farhash.Cache: [abi.CacheConfig],
                   farhash.ByteSet: [abi.BytesConfig, abi.SetConfig],
                   farhash.Map: [abi.MapConfig], farhash.Index: [abi.IndexConfig]}
        for table, of in structs.items():
            known = {*inspect.signature(table).parameters, *NAMES, "reserved", "set"}
            for struct in of:
                for field in struct._fields_:
                    self.assertIn(field[0], known, table)

    def test_texts(self):
        for call, said in (
                (lambda: farhash.Set(self.job, 1 << 60), r"set: buckets must be 2\^44"),
                (lambda: farhash.Set(self.job, 64, chunk=7), r"set: chunk must"),
                (lambda: farhash.Cache(self.job, 1 << 20, 8, 9), r"the size of key is 1048576"),
                (lambda: farhash.Cache(self.job, 8, 8, 0), r"buckets must"),
                (lambda: farhash.ByteSet(self.job, 5000, 64), r"the size of element is 5000"),
                (lambda: farhash.ByteSet(self.job, capacity=1 << 63), r"capacity must be 2\^36")):
            with self.assertRaisesRegex(farhash.ArgumentError, said):
                call()


class OfOneLength(OneRank):
    def test_as_bytes(self):
        elements = farhash.ByteSet(self.job, 5, 1 << 10)
        self.assertIs(elements.find_or_put(b"abcde"), Answer.INSERTED)
        self.assertIs(elements.find_or_put(bytearray(b"abcde")), Answer.FOUND)
        self.assertIn(b"abcde", elements)
        self.assertNotIn(b"ab\0de", elements)
        self.assertEqual(elements.find_or_put_batch(b"abcdefghij").tolist(), [1, 2])
        self.assertEqual(elements.contains_batch(np.frombuffer(b"fghijklmno", np.uint8)
                                                 .reshape(2, 5)).tolist(), [True, False])
        self.assertIn("abcde", elements)
        for wrong in (b"abcd", b"abcdef", b"", "abcd"):
            with self.assertRaisesRegex(ValueError, "5 bytes"):
                elements.find_or_put(wrong)
            with self.assertRaisesRegex(ValueError, "5 bytes"):
                elements.contains(wrong)
        with self.assertRaises(ValueError):
            elements.find_or_put_batch(b"abcdef")
        with self.assertRaisesRegex(ValueError, "5 bytes"):
            elements.contains_batch(np.zeros((2, 4), np.uint8))
        for wrong in (7, None, [1, 2, 3, 4, 5]):
            with self.assertRaises(TypeError):
                elements.find_or_put(wrong)
        with self.assertRaisesRegex(TypeError, "5 bytes each"):
            elements.find_or_put_batch([b"12345"])
        self.assertEqual(len(elements), 2)

    def test_names(self):
        elements = farhash.ByteSet(self.job, ("i4", 3), 1 << 10, capacity=500)
        rows = np.arange(300, dtype=np.int32).reshape(-1, 3)
        results, refs = elements.find_or_put_refs(rows)
        self.assertTrue((results == Answer.INSERTED).all())
        again, same = elements.find_or_put_refs(rows)
        self.assertTrue((again == Answer.FOUND).all())
        self.assertTrue((refs == same).all())
        self.assertTrue((elements.get(refs[42]) == rows[42]).all())
        self.assertEqual(len(elements), 100)
        elements.check()
        with self.assertRaises(farhash.FarhashError):
            elements.get(1 << 62)


class OfAnyLength(OneRank):
    def test_against_a_set_of_python(self):
        strings = farhash.ByteSet(self.job, max_bytes=64 << 20)
        texts = [b"x" * n for n in (0, 1, 7, 8, 9, 1000, 65536)] + [b"%d" % n for n in range(2000)]
        results, refs = strings.find_or_put_refs(texts)
        self.assertEqual(set(results.tolist()), {Answer.INSERTED})
        self.assertEqual([strings.get(ref) for ref in refs.tolist()], texts)
        self.assertEqual(set(strings.find_or_put_batch(texts).tolist()), {Answer.FOUND})
        self.assertEqual(strings.contains_batch(["7", "none", b""]).tolist(), [True, False, True])
        self.assertEqual(strings.contains_batch([]).tolist(), [])
        self.assertEqual(strings.contains_batch(np.array(["7", "x" * 8])).tolist(), [True, True])
        self.assertEqual(strings.find_or_put("new"), Answer.INSERTED)
        self.assertIn(b"new", strings)
        self.assertNotIn("ne", strings)
        self.assertEqual(len(strings), len(texts) + 1)
        rows = np.arange(12, dtype=np.uint8).reshape(3, 4)
        self.assertEqual(strings.find_or_put_batch(rows[:, ::2]).tolist(), [Answer.INSERTED] * 3)
        self.assertIn(bytes([4, 6]), strings)
        strings.check()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "strings")
            strings.save(path)
            other = farhash.ByteSet(self.job, max_bytes=64 << 20)
            other.load(path)
        self.assertEqual(len(other), len(strings))

    def test_refused(self):
        strings = farhash.ByteSet(self.job, max_bytes=16 << 20)
        for wrong in (1, None, ["a"]):
            with self.assertRaises(TypeError):
                strings.find_or_put(wrong)
        for wrong in (b"abc", "abc", 3, [1]):
            with self.assertRaises(TypeError):
                strings.find_or_put_batch(wrong)
        with self.assertRaisesRegex(farhash.ArgumentError, "65536"):
            strings.find_or_put(bytes(65537))
        with self.assertRaises(farhash.ArgumentError):
            strings.find_or_put_batch([b"good", bytes(65537)])
        with self.assertRaises(farhash.ArgumentError):
            strings.get(1 << 40)
        self.assertEqual(len(strings), 0)


if __name__ == "__main__":
    unittest.main()
