"""Maps."""

import os
import tempfile
import unittest
import unittest.mock

import numpy as np

import farhash
from test_sets import OneRank


class Maps(OneRank):
    def map(self, slots=1 << 12, size=1 << 20, max_key=16, max_value=40, **more):
        return farhash.Map(self.job, slots, size, max_key, max_value, **more)

    def test_no_size(self):
        pairs = farhash.Map(self.job)
        sizes = [0, 5, 1000, 1025, 65536, 3]
        values = [bytes([i]) * size for i, size in enumerate(sizes)]
        for i, value in enumerate(values):
            pairs.put(str(i), value)
            self.assertEqual(pairs.get(str(i)), value)
        again = farhash.Map(self.job)
        again.put_batch([str(i) for i in range(len(sizes))], values)
        for _ in range(2):
            self.assertEqual(again.get_batch([str(i) for i in range(len(sizes))] + ["none"]),
                             values + [None])
        self.assertEqual(again.get_batch([]), [])
        with self.assertRaisesRegex(farhash.ArgumentError, "call 6: .*the size of key is"):
            again.get_batch([str(i) for i in range(len(sizes))] + [b""])
        numbers = np.arange(30000)
        pairs.put_batch(numbers, numbers)
        self.assertEqual(pairs.get_batch(numbers), [n.tobytes() for n in numbers])
        pairs.close()
        again.close()

    def test_one_at_a_time(self):
        pairs = self.map()
        self.assertIsNone(pairs.get(b"a"))
        self.assertEqual(pairs.get_version(b"a"), (None, 0))
        first = pairs.put(b"a", b"v\0lue")
        self.assertEqual(pairs.get_version(b"a"), (b"v\0lue", first))
        self.assertEqual(pairs.put_if_absent(b"a", b"other"), (False, first))
        done, second = pairs.compare_and_put(b"a", b"", first)
        self.assertTrue(done)
        self.assertNotEqual(second, first)
        self.assertEqual(pairs.compare_and_put(b"a", b"x", first), (False, second))
        self.assertEqual(pairs.get(bytearray(b"a")), b"")
        self.assertIn(b"a", pairs)
        self.assertEqual(len(pairs), 1)
        self.assertTrue(pairs.delete(b"a"))
        self.assertFalse(pairs.delete(b"a"))
        self.assertNotIn(b"a", pairs)
        self.assertTrue(pairs.compare_and_put(b"new", b"1", 0)[0])
        self.assertTrue(pairs.put_if_absent(np.uint64(5), np.arange(3.0))[0])
        self.assertEqual(pairs.get((5).to_bytes(8, "little")), np.arange(3.0).tobytes())
        stats = pairs.stats()
        self.assertEqual((stats.calls["delete"], stats.calls["put"]), (2, 1))
        self.assertEqual(repr(pairs), "<farhash.Map>")
        pairs.check()

    def test_batches_against_a_dict(self):
        for max_value in (0, 40):
            pairs, known = self.map(max_value=max_value), {}
            random = np.random.default_rng(11)
            for _ in range(10):
                keys = list({b"k%d" % k for k in random.integers(0, 500, 200)})
                values = [bytes(random.integers(0, 256, random.integers(0, max_value + 1),
                                                np.uint8)) for _ in keys]
                versions = pairs.put_batch(keys, values)
                self.assertTrue((versions != 0).all())
                known.update(zip(keys, values))
                gone = keys[:50]
                self.assertTrue(pairs.delete_batch(gone).all())
                self.assertFalse(pairs.delete_batch(gone).any())
                for key in gone:
                    del known[key]
                asked = [b"k%d" % k for k in random.integers(0, 500, 300)]
                found, now = pairs.get_versions(asked)
                self.assertEqual(found, [known.get(key) for key in asked])
                self.assertEqual((now != 0).tolist(), [key in known for key in asked])
            self.assertEqual(dict(pairs.items()), known)
            self.assertEqual(len(pairs), len(known))
            pairs.check()

    def test_arrays(self):
        pairs = self.map()
        keys, values = np.arange(500), np.random.default_rng(12).random((500, 3))
        pairs.put_batch(keys, values)
        room = np.zeros((600, 3))
        hits = pairs.get_into(np.arange(600), room)
        self.assertEqual(hits.tolist(), [True] * 500 + [False] * 100)
        self.assertTrue((room[:500] == values).all() and (room[500:] == 0).all())
        self.assertEqual(pairs.get_batch(keys[::-2])[0], values[-1].tobytes())
        fixed = np.zeros((5, 3))
        fixed.flags.writeable = False
        for wrong in (fixed, np.zeros((5, 6))[:, ::2], [1], np.zeros(5, object)):
            with self.assertRaises(TypeError):
                pairs.get_into(keys[:5], wrong)
        with self.assertRaisesRegex(ValueError, "4 rows for 5 keys"):
            pairs.get_into(keys[:5], np.zeros((4, 3)))
        with self.assertRaisesRegex(ValueError, "24 bytes.* has 32"):
            pairs.get_into(keys[:5], np.zeros((5, 4)))
        with self.assertRaisesRegex(farhash.ArgumentError, "24 bytes and room is 16"):
            pairs.get_into(keys[:5], np.zeros((5, 2)))

    def test_like_a_dict(self):
        pairs = self.map()
        pairs[b"a"], pairs["ä"] = b"1", b""
        self.assertEqual((pairs[b"a"], pairs["ä"], pairs["ä".encode()]), (b"1", b"", b""))
        self.assertEqual((pairs.get("no"), pairs.get("no", 5), pairs.get("ä", 5)),
                         (None, 5, b""))
        for missing in (lambda: pairs["no"], lambda: pairs.__delitem__("no")):
            with self.assertRaisesRegex(KeyError, "no"):
                missing()
        self.assertEqual(sorted(pairs), [b"a", "ä".encode()])
        self.assertEqual(sorted(pairs.keys()), sorted(pairs))
        self.assertEqual(sorted(pairs.values()), [b"", b"1"])
        self.assertEqual(dict(pairs), dict(pairs.items()))
        for key in pairs:
            del pairs[key]
        self.assertEqual((len(pairs), list(pairs), bool(pairs)), (0, [], True))

    def test_keys_of_text(self):
        pairs = self.map()
        keys = ["a", "bc", "öde"]
        pairs.put_batch(keys, [b"1", b"2", b"3"])
        self.assertEqual(sorted(pairs), sorted(key.encode() for key in keys))
        for same in (keys, np.array(keys), [b"a", "bc", np.str_("öde")]):
            self.assertEqual(pairs.get_batch(same), [b"1", b"2", b"3"])
        self.assertIn("bc", pairs)
        self.assertEqual(pairs.put_if_absent("a", b"")[0], False)
        self.assertTrue(pairs.delete("a"))
        self.assertEqual(pairs.delete_batch(["a", "bc"]).tolist(), [False, True])
        with self.assertRaises(TypeError):
            pairs["a"] = "a text as value"
        with self.assertRaisesRegex(farhash.ArgumentError, "the size of key is 18"):
            pairs["ö" * 9] = b""
        with self.assertRaises(UnicodeEncodeError):
            pairs["\ud800"] = b""

    def test_files(self):
        pairs = self.map()
        known = {b"k%d" % i: b"v" * (i % 40) for i in range(300)}
        pairs.put_batch(list(known), list(known.values()))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "map")
            pairs.save(path)
            other = self.map(1 << 9)
            other[b"k7"] = b"of before"
            other.load(path)
            self.assertEqual(dict(other.items()), known)
            with self.assertRaisesRegex(farhash.FormatError, "max_value"):
                self.map(max_value=3).load(path)
            with self.assertRaisesRegex(farhash.FileError, "none"):
                other.load(os.path.join(folder, "none"))
            with self.assertRaisesRegex(farhash.ArgumentError, "the path"):
                pairs.save("")
            with open(path, "wb") as file:
                file.write(b"something else")
            with self.assertRaises(farhash.FormatError):
                other.load(path)

    def test_interrupted_items(self):
        pairs = self.map()
        pairs.put_batch([b"a", b"b"], [b"", b""])
        with unittest.mock.patch("farhash.table.ctypes.string_at", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                pairs.items()
        self.assertEqual(len(pairs.items()), 2)

    def test_swaps_in_batches(self):
        pairs = self.map()
        keys = [b"a", b"b", b"c"]
        inserted, first = pairs.put_if_absent_batch(keys, keys)
        self.assertTrue(inserted.all())
        again, same = pairs.put_if_absent_batch(keys, keys)
        self.assertFalse(again.any())
        self.assertTrue((same == first).all())
        tried = first.copy()
        tried[1] = 0
        done, now = pairs.compare_and_put_batch(keys, [b"1", b"2", b"3"], tried)
        self.assertEqual(done.tolist(), [True, False, True])
        self.assertEqual((now == first).tolist(), [False, True, False])
        self.assertEqual(pairs.get_batch(keys), [b"1", b"b", b"3"])
        with self.assertRaisesRegex(ValueError, "shape"):
            pairs.compare_and_put_batch(keys, keys, first[:2])
        with self.assertRaisesRegex(TypeError, "uint64"):
            pairs.compare_and_put_batch(keys, keys, [1.0, 2.0, 3.0])

    def test_counters(self):
        pairs = self.map()
        self.assertEqual([pairs.add("a"), pairs.add("a", -3), pairs.add("a", 0)], [1, -2, -2])
        self.assertEqual(pairs["a"], np.int64(-2).tobytes())
        self.assertEqual(pairs.add_batch(["b", "c"], [5, 1 << 40]).tolist(), [5, 1 << 40])
        self.assertEqual(sorted(pairs.add_batch(["b"] * 1000).tolist()), list(range(6, 1006)))
        self.assertEqual(pairs.add_batch([]).tolist(), [])
        self.assertEqual(pairs.add("big", (1 << 63) - 1), (1 << 63) - 1)
        self.assertEqual(pairs.add("big"), -1 << 63)
        pairs["text"] = b"123"
        for refused in (lambda: pairs.add("text"), lambda: pairs.add_batch(["b", "text"])):
            with self.assertRaisesRegex(farhash.ArgumentError, "the value has 3 bytes"):
                refused()
        self.assertEqual(pairs["text"], b"123")
        with self.assertRaisesRegex(farhash.ArgumentError, "delta is"):
            pairs.add("a", 1 << 63)
        for wrong in (1.5, "1", None):
            with self.assertRaises(TypeError):
                pairs.add("a", wrong)
            with self.assertRaises(TypeError):
                pairs.add_batch(["a"], wrong)
        with self.assertRaisesRegex(ValueError, "shape"):
            pairs.add_batch(["a"], [1, 2])
        with self.assertRaisesRegex(farhash.ArgumentError, "a counter has 8 bytes"):
            self.map(max_value=7).add("a")
        full = self.map(8)
        with self.assertRaises(farhash.FullError) as caught:
            full.add_batch(np.arange(20))
        self.assertEqual((caught.exception.results != 0).sum(), 8)
        stats = pairs.stats()
        self.assertEqual((stats.calls["add"] >= 1007, stats.calls["put"]), (True, 1))

    def test_pieces(self):
        pairs = self.map(1 << 13, 1 << 22, 8, 30000)
        keys = np.arange(2000)
        pairs.put_batch(keys, keys)
        found = pairs.get_batch(keys)  # which has room for 559 at a time
        self.assertEqual(found, [key.tobytes() for key in keys])

    def test_nothing(self):
        pairs = self.map()
        self.assertEqual(pairs.get_batch([]), [])
        self.assertEqual(pairs.put_batch([], []).tolist(), [])
        self.assertEqual(pairs.delete_batch(np.zeros(0)).tolist(), [])
        self.assertEqual(pairs.get_into([], np.zeros((0, 4))).tolist(), [])

    def test_full(self):
        pairs = self.map(8)
        keys = [b"%d" % i for i in range(20)]
        with self.assertRaises(farhash.FullError) as caught:
            pairs.put_batch(keys, keys)
        stored = caught.exception.results != 0
        self.assertEqual(stored.sum(), 8)
        self.assertEqual([v is not None for v in pairs.get_batch(keys)], stored.tolist())
        with self.assertRaises(farhash.FullError):
            pairs.put(b"another", b"")

    def test_churn(self):
        pairs = self.map(8, 1 << 12)
        for i in range(1000):
            pairs.put(b"%d" % i, b"")
            self.assertTrue(pairs.delete(b"%d" % i))
        self.assertEqual(len(pairs), 0)
        pairs.check()

    def test_what_makes_no_sense(self):
        pairs = self.map()
        for wrong in (5, None, [b"a"]):
            with self.assertRaises(TypeError):
                pairs.get(wrong)
            with self.assertRaises(TypeError):
                pairs.put(b"a", wrong)
        for wrong in (b"ab", "ab", [1], np.str_("ab"), np.array("ab"), np.zeros(2, object),
                      np.float64(1)):
            with self.assertRaises(TypeError):
                pairs.get_batch(wrong)
        for wrong in (b"", b"k" * 17):
            with self.assertRaisesRegex(farhash.ArgumentError, "the size of key is"):
                pairs.get(wrong)
            with self.assertRaisesRegex(farhash.ArgumentError, "call 1: .*the size of key is"):
                pairs.get_batch([b"a", wrong])
        with self.assertRaisesRegex(farhash.ArgumentError, "the size of value is 41"):
            pairs.put(b"a", bytes(41))
        with self.assertRaisesRegex(ValueError, "2 keys and 1 values"):
            pairs.put_batch([b"a", b"b"], [b"c"])
        for wrong in ({"slots": 1 << 41}, {"max_key": 1 << 17}, {"max_value": 1 << 17}, {"max_bytes": 1}, {"depth": 1 << 20}):
            with self.assertRaises(farhash.ArgumentError, msg=wrong):
                self.map(**wrong)
        with self.assertRaises(ValueError):
            self.map(access=3)

    def test_closed(self):
        pairs = self.map()
        pairs.close()
        self.assertEqual(repr(pairs), "<farhash.Map, closed>")
        for call in (lambda: pairs.get(b"a"), lambda: pairs.put(b"a", b"b"),
                     lambda: pairs.get_batch([b"a"]), lambda: pairs.get_batch([]), pairs.items,
                     lambda: len(pairs), lambda: list(pairs), pairs.check, pairs.stats):
            with self.assertRaises(farhash.ClosedError):
                call()


class Accesses(unittest.TestCase):
    def test_each(self):
        """Ranks whose memory is not direct answer alike."""
        def rank(job):
            for access in (farhash.Access.AUTO, farhash.Access.ONE_SIDED):
                words = farhash.Set(job, 1 << 10, access=access)
                strings = farhash.ByteSet(job, 8, 1 << 10, access=access)
                cache = farhash.Cache(job, "i8", "i8", 1 << 10, access=access)
                pairs = farhash.Map(job, 1 << 10, 1 << 17, 8, 8, access=access)
                keys = np.arange(100 * job.rank, 100 * job.rank + 100)
                words.find_or_put_batch(keys)
                strings.find_or_put_batch(keys)
                cache.put_batch(keys, keys)
                pairs.put_batch(keys, keys)
                index = farhash.Index(job, "i8", "i8", keys, -keys, access=access)
                job.barrier()
                keys = np.arange(200)
                assert words.contains_batch(keys).all()
                assert strings.contains_batch(keys).all()
                values, hits = cache.get_batch(keys)
                assert hits.sum() > 150 and (values[hits] == keys[hits]).all()
                assert pairs.get_batch(keys) == [key.tobytes() for key in keys]
                assert (index.get_batch(keys)[0] == -keys).all()
                for table in words, strings, cache, pairs, index:
                    shipping = table.shipping
                    assert shipping.min_batch is None and shipping.served == 0, shipping
                    assert shipping.reason
                job.barrier()
        farhash.run(rank, 2, one_sided=True)

    def test_shipping_where_that_is_not_possible(self):
        def rank(job):
            for make in (lambda **more: farhash.Set(job, 64, **more),
                         lambda **more: farhash.Map(job, 64, 1 << 12, 8, 8, **more)):
                with self.assertRaisesRegex(farhash.ArgumentError, "Access.AUTO or"):
                    make(access=farhash.Access.SHIPPED)
        farhash.run(rank, 1, one_sided=True)


if __name__ == "__main__":
    unittest.main()
