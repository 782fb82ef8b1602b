"""Tables by name: what processes share, and what forks of a process that has them open do."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import farhash
from farhash import Answer, Stored, memoized
from farhash.calls import InMap

METHODS = "fork", "spawn", "forkserver"
SMALL = {"max_bytes": 64 << 20}


class Named(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", DeprecationWarning)  # forks of a process with threads
        folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "table")

    def open(self, kind=farhash.Map, *args, **kwargs):
        """A table that the test closes."""
        table = kind.open(self.path, *args, **kwargs)
        self.addCleanup(table.close)
        return table

    def fork(self, function):
        """Runs a function in a fork, which has to succeed."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                function()
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        return child

    def ended(self, *children):
        for child in children:
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class Tables(Named):
    def test_map(self):
        first, second = self.open(**SMALL), self.open()
        first["key"] = b"value"
        self.assertEqual(second["key"], b"value")
        self.assertEqual(second.setdefault("key", b"other"), b"value")
        self.assertEqual(second.setdefault("more", b"other"), b"other")
        self.assertEqual(sorted(first), [b"key", b"more"])
        del second["key"]
        self.assertNotIn("key", first)
        self.assertEqual((len(first), first.get("key", 7)), (1, 7))
        with self.assertRaises(KeyError):
            first["key"]
        self.assertIsNone(first.job)
        first.check()

    def test_cache(self):
        first = self.open(farhash.Cache, "i8", ("f8", 2), 1000)
        self.assertEqual(first.put(3, [1.5, 2.5]), Stored.NEW)
        second = self.open(farhash.Cache)  # bytes
        self.assertEqual(second.get((3).to_bytes(8, "little")), np.array([1.5, 2.5]).tobytes())
        self.assertEqual(second.setdefault(b"12345678", bytes(16)), bytes(16))
        self.assertEqual(second.buckets, first.buckets)
        self.assertEqual(first.all_stats()[1].inserted, 1)
        with self.assertRaisesRegex(farhash.ArgumentError, "bytes per key differ"):
            farhash.Cache.open(self.path, 4)
        second.check()

    def test_sets(self):
        first, second = self.open(farhash.Set, **SMALL), self.open(farhash.Set)
        self.assertEqual(first.find_or_put(7), Answer.INSERTED)
        self.assertEqual(second.find_or_put(7), Answer.FOUND)
        self.assertEqual(len(second), 1)
        farhash.remove(self.path)
        elements = self.open(farhash.ByteSet, "S8", **SMALL)
        self.assertEqual(elements.find_or_put("eight"), Answer.INSERTED)
        again = self.open(farhash.ByteSet)
        self.assertEqual(again.find_or_put(b"eight\0\0\0"), Answer.FOUND)
        with self.assertRaisesRegex(ValueError, "expected are 8 bytes"):
            again.find_or_put(b"any length")
        with self.assertRaisesRegex(farhash.ArgumentError, "bytes per element differ"):
            farhash.ByteSet.open(self.path, 9)
        farhash.remove(self.path)
        strings = self.open(farhash.ByteSet, **SMALL)
        self.assertEqual(strings.find_or_put("any length"), Answer.INSERTED)
        self.assertIn(b"any length", self.open(farhash.ByteSet))
        with self.assertRaisesRegex(farhash.ArgumentError, "bytes per element differ"):
            farhash.ByteSet.open(self.path, 8)

    def test_refused(self):
        with self.assertRaises(farhash.FileError):
            farhash.Map.open(self.path, existing=True)
        with self.assertRaisesRegex(farhash.FileError, "no such directory"):
            farhash.Map.open(self.path + "/x/y")
        with self.assertRaises(farhash.ArgumentError):
            farhash.Map.open("a\0b")
        with self.assertRaises(TypeError):
            farhash.Map.open(self.path, max_key="x")
        with self.assertRaises(farhash.FileError):  # none of these has made it
            farhash.remove(self.path)
        self.open(mode=0o640, **SMALL)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)
        with self.assertRaisesRegex(farhash.FormatError, "another kind"):
            farhash.Set.open(self.path)
        with self.assertRaisesRegex(farhash.ArgumentError, "longest key differ"):
            farhash.Map.open(self.path, max_key=100)
        with self.assertRaises(farhash.FormatError):
            farhash.remove("/dev/null")

    def descriptors(self):
        """How many this process has of the table's file."""
        folder, n = "/proc/self/fd", 0
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # the folder's own
                n += os.path.samefile(os.path.join(folder, fd), self.path)
        return n

    def test_end(self):
        table = self.open(**SMALL)
        self.assertGreater(self.descriptors(), 0)
        table.close()
        table.close()
        with self.assertRaises(farhash.ClosedError):
            table["key"]
        self.assertEqual(self.descriptors(), 0)
        table = farhash.Map.open(self.path)
        del table
        gc.collect()
        self.assertEqual(self.descriptors(), 0)

    def test_pickled(self):
        cache = self.open(farhash.Cache, "i8", "f8", 1000)
        cache[3] = 0.5
        with pickle.loads(pickle.dumps(cache)) as other:
            self.assertEqual(other[3], 0.5)
        self.assertEqual(cache[3], 0.5)


def count(table, key, n):
    """Adds to a number that many processes add to."""
    for _ in range(n):
        done = False
        while not done:
            value, version = table.get_version(key)
            done = table.compare_and_put(key, b"%d" % (int(value or 0) + 1), version)[0]


def touch(table):
    """What a worker does with the table that it was given."""
    count(table, "n", 100)
    table["%d" % os.getpid()] = b""


class Workers(Named):
    def test_methods(self):
        for method in METHODS:
            with self.subTest(method):
                table = self.open(**SMALL)
                context = multiprocessing.get_context(method)
                workers = [context.Process(target=touch, args=(table,)) for _ in range(3)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                    self.assertEqual(worker.exitcode, 0)
                self.assertEqual((table["n"], len(table)), (b"300", 4))
                table.close()
                farhash.remove(self.path)

    def test_pool(self):
        table = self.open(farhash.Set, **SMALL)
        for method in METHODS:
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                pool.map(table.find_or_put, range(100))
        self.assertEqual(len(table), 100)

    def test_server_that_forks_workers(self):
        """A worker that is killed is replaced, while the others and the parent work."""
        table = self.open(**SMALL)
        table["n"] = b"0"
        read, write = os.pipe()

        def works():
            table["killed"] = b"%d" % os.getpid()
            os.write(write, b"x")
            while True:
                table["busy"] = os.urandom(1000)

        def counts():
            count(table, "n", 500)

        killed = self.fork(works)
        children = [self.fork(counts) for _ in range(3)]
        os.read(read, 1)
        os.kill(killed, signal.SIGKILL)
        os.waitpid(killed, 0)
        children.append(self.fork(counts))
        count(table, "n", 500)
        self.ended(*children)
        self.assertEqual(table["n"], b"2500")
        self.assertEqual(table["killed"], b"%d" % killed)
        table.check()


class Forks(Named):
    def test_all_kinds(self):
        tables = [farhash.Map.open(self.path, **SMALL),
                  farhash.Cache.open(self.path + "c", "i8", "i8", 1000),
                  farhash.Set.open(self.path + "s", **SMALL),
                  farhash.ByteSet.open(self.path + "e", 8, **SMALL)]
        table, cache, words, elements = tables

        def child():
            table["key"] = b"value"
            cache[1] = 2
            words.find_or_put_batch(np.arange(1000))
            self.assertEqual(elements.find_or_put(b"12345678"), Answer.INSERTED)

        self.ended(self.fork(child))
        self.assertEqual((table["key"], cache[1], len(words), len(elements)),
                         (b"value", 2, 1000, 1))
        for table in tables:
            table.check()
            table.close()

    def test_forks_of_forks(self):
        table = self.open(**SMALL)

        def child(depth):
            def nested():
                if depth % 2 == 0:  # each other one does not use it itself
                    count(table, "n", 10)
                if depth < 5:
                    self.ended(self.fork(child(depth + 1)))
                count(table, "n", 10)
            return nested

        self.ended(self.fork(child(0)))
        self.assertEqual(table["n"], b"90")

    def test_beside_threads(self):
        """The parent's threads are in calls when it forks, and the child has threads of its own."""
        table, words = self.open(**SMALL), farhash.Set.open(self.path + "s", **SMALL)
        stopped = threading.Event()

        def busy():
            while not stopped.is_set():
                words.find_or_put_batch(np.arange(20000))
                table["key"] = b"value"

        def child():
            threads = [threading.Thread(target=count, args=(table, "n", 20)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.ended(*[self.fork(child) for _ in range(8)])
        stopped.set()
        for thread in threads:
            thread.join()
        self.assertEqual(table["n"], b"640")
        words.close()

    def test_close_in_the_child(self):
        """It is of no use to the parent, and opens nothing."""
        with farhash.Map.open(self.path, **SMALL) as table:
            def child():
                farhash.remove(self.path)
                with table:
                    pass
                self.assertTrue(table.closed)
                self.assertFalse(os.path.exists(self.path))
                with self.assertRaises(farhash.ClosedError):
                    table["key"]
                with self.assertRaises(farhash.ClosedError):
                    table.items()

            self.ended(self.fork(child))
            table["key"] = b"value"

    def test_signals_in_the_child(self):
        table = self.open(farhash.Set, **SMALL)

        def child():
            got = []
            signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
            for _ in range(100):
                os.kill(os.getpid(), signal.SIGUSR1)
                os.kill(os.getpid(), signal.SIGURG)
                table.find_or_put_batch(np.arange(500))
            self.assertEqual(len(got), 100)

        self.ended(self.fork(child))

    def test_file_that_is_cut_off(self):
        """A fault in the child's copy of the library is an error as in the parent."""
        table = self.open(**SMALL)

        def child():
            table["key"] = b"value"
            os.truncate(self.path, 4096)
            with self.assertRaisesRegex(farhash.FarhashError, "cut off"):
                table.items()

        self.ended(self.fork(child))

    def test_rank(self):
        """A fork of a rank has no part in its job, and none in another."""
        with farhash.Job.join() as job:
            words, table = farhash.Set(job, 64), self.open(**SMALL)

            def child():
                for call in (lambda: words.find_or_put(1), lambda: len(words), job.barrier,
                             farhash.Job.join, lambda: farhash.run(lambda job: None, 2),
                             words.close, job.close):
                    with self.assertRaisesRegex(farhash.ForkedError, "by name"):
                        call()
                table["key"] = b"value"

            self.ended(self.fork(child))
            self.assertEqual(table["key"], b"value")

    def test_no_copy(self):
        """Where the copy cannot be made it is an error that says what to do."""
        table = self.open(**SMALL)

        def child():
            with mock.patch("os.memfd_create", side_effect=PermissionError("no")), \
                    self.assertRaisesRegex(farhash.ForkedError, "after the fork"):
                table["key"]
            table["key"] = b"value"

        with mock.patch("farhash.library.prepare_fork"), mock.patch("farhash.library._copy", -1):
            self.ended(self.fork(child))
        self.assertEqual(table["key"], b"value")


def square(n):
    """The square of a number."""
    if n < 0:
        raise ValueError("negative")
    calls.append(n)
    return n * n


calls = []


def ask(path):
    return farhash.memoize(path)(square)(12)


class Memoize(Named):
    def memoize(self, **kwargs):
        calls.clear()
        function = farhash.memoize(self.path, **SMALL, **kwargs)(square)
        self.addCleanup(lambda: function._map and function._map.close())
        return function

    def test_processes(self):
        function = self.memoize()
        self.assertFalse(os.path.exists(self.path))  # until it is called
        self.assertEqual((function(12), function(12), function.__doc__),
                         (144, 144, "The square of a number."))
        self.assertEqual((calls, function.cache_info()), ([12], (1, 1)))
        for method in METHODS:
            with multiprocessing.get_context(method).Pool(1) as pool:
                self.assertEqual(pool.apply(ask, (self.path,)), 144)
        self.assertEqual(len(function.table), 1)

    def test_fork(self):
        function = self.memoize()
        function(2)
        self.ended(self.fork(lambda: self.assertEqual((function(2), function(3)), (4, 9))))
        self.assertEqual((function(3), calls), (9, [2]))

    def test_fork_beside_a_call(self):
        function = self.memoize()
        with memoized._counting:  # as a thread has it in a call
            child = self.fork(lambda: function(2))
        self.ended(child)

    def test_errors_are_not_stored(self):
        function = self.memoize()
        for _ in range(2):
            with self.assertRaises(ValueError):
                function(-1)
        self.assertEqual((len(function.table), function.cache_info().misses), (0, 2))

    def test_lifetime(self):
        function = self.memoize(ttl=10)
        with mock.patch("time.time", return_value=1000.0) as now:
            function(3)
            now.return_value = 1009.0
            function(3)
            self.assertEqual(calls, [3])
            now.return_value = 1010.0
            self.assertEqual(function(3), 9)
            self.assertEqual(calls, [3, 3])
        self.assertEqual(len(function.table), 1)
        for wrong in (0, -1, float("nan")):
            with self.assertRaises(ValueError):
                farhash.memoize(self.path, ttl=wrong)(square)

    def test_too_large_and_full(self):
        large = farhash.memoize(self.path, max_bytes=8 << 20, name="large")(bytes)
        with self.assertWarnsRegex(RuntimeWarning, f"room for {InMap.room}"):
            self.assertEqual(len(large(1 << 17)), 1 << 17)
        self.assertEqual(large.too_large, 1)
        with self.assertWarnsRegex(RuntimeWarning, "the map is full"):
            for n in range(300):
                self.assertEqual(len(large(50000 + n)), 50000 + n)
        self.assertEqual(len(large.table), 300 - large.full)
        self.assertLess(len(large.table), 300)
        large.table.close()

    def test_what_has_expired_makes_room(self):
        short = farhash.memoize(self.path, max_bytes=8 << 20, name="short", ttl=10)(bytes)
        ever = farhash.memoize(self.path, max_bytes=8 << 20, name="ever")(bytes)
        with mock.patch("time.time", return_value=1000.0) as now:
            self.assertEqual(len(ever(100)), 100)
            for n in range(50):
                short(50000 + n)
            now.return_value = 1005.0
            with self.assertWarnsRegex(RuntimeWarning, "the map is full"), mock.patch.object(
                    short.table, "_walk", wraps=short.table._walk) as walk:
                for n in range(50, 150):
                    short(50000 + n)
            self.assertGreater(short.full, 1)
            walk.assert_called_once()  # nothing expires before 1010, which the first walk has found
            full = short.full
            now.return_value = 1010.0  # when the first 50 have expired
            for n in range(200, 240):
                self.assertEqual(len(short(50000 + n)), 50000 + n)
            hits = short.cache_info().hits
            for n in range(200, 240):
                short(50000 + n)
            short(50050)  # of the others, which have not
            self.assertEqual((short.full, short.cache_info().hits), (full, hits + 41))
            ever(100)
            self.assertEqual(ever.cache_info(), (1, 1))
        for function in (short, ever):
            function.table.close()

    def test_main_functions_need_a_name(self):
        for module in ("__main__", "__mp_main__"):
            function = types.FunctionType(square.__code__, globals(), "square")
            function.__module__ = module
            with self.assertRaisesRegex(ValueError, "of __main__.*name="):
                farhash.memoize(self.path)(function)
            farhash.memoize(self.path, name="square")(function)
            with farhash.Cache.open(self.path + "2", 32, 100, 1000) as cache:
                with self.assertRaisesRegex(ValueError, "of __main__.*name="):
                    cache.memoize(function, pickled=True)
            farhash.remove(self.path + "2")


if __name__ == "__main__":
    unittest.main()
