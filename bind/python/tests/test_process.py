"""Threads, forks, signals: what else happens in a process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import unittest
import warnings

import numpy as np

import farhash
from test_library import PACKAGE
from test_sets import OneRank


class Ranks(unittest.TestCase):
    def test_threads_as_ranks(self):
        def rank(job):
            words = farhash.Set(job, 1 << 12)
            results = words.find_or_put_batch(np.arange(1000))
            job.barrier()
            self.assertEqual(len(words), 1000)
            words.check()
            return job.rank, job.size, int((results == farhash.Answer.INSERTED).sum())

        ranks = farhash.run(rank, 4)
        self.assertEqual([r[:2] for r in ranks], [(i, 4) for i in range(4)])
        self.assertEqual(sum(r[2] for r in ranks), 1000)

    def test_one_fails(self):
        def rank(job):
            if job.rank == 2:
                raise KeyError("reason")
            job.barrier()

        with self.assertRaisesRegex(KeyError, "reason"):
            farhash.run(rank, 4)

    def test_a_rank_differs(self):
        with self.assertRaisesRegex(farhash.FarhashError, "rank"):
            farhash.run(lambda job: farhash.Set(job, 64 << job.rank), 2)

    def test_a_path_of_one_rank(self):
        """It is an error of the others, which do not wait."""
        errors = []

        def rank(job):
            words = farhash.Set(job, 64)
            try:
                words.save("a\0b" if job.rank == 1 else "x")
            except farhash.FarhashError as err:
                errors.append((job.rank, type(err), str(err)))

        farhash.run(rank, 3)
        errors.sort()
        self.assertEqual([e[1] for e in errors],
                         [farhash.RankError, farhash.ArgumentError, farhash.RankError])
        self.assertRegex(errors[0][2], "Set.save: rank 1")

    def test_arguments_of_one_rank(self):
        """What Python refuses on one rank the others do not wait for."""
        for make in (lambda job, bad: farhash.Set(job, -1 if bad else 64),
                     lambda job, bad: farhash.ByteSet(job, "O" if bad else 8, 64),
                     lambda job, bad: farhash.Cache(job, 8, 8, 64, mode=9 if bad else 0)):
            kinds = {}

            def rank(job):
                try:
                    make(job, job.rank == 1)
                except Exception as err:
                    kinds[job.rank] = isinstance(err, farhash.RankError)
                farhash.Set(job, 64).check()  # all are at the same call

            farhash.run(rank, 3)
            self.assertEqual(kinds, {0: True, 1: False, 2: True})

    def test_impossible(self):
        for wrong in (-3, 0):
            with self.assertRaises(farhash.FarhashError):
                farhash.run(lambda job: None, wrong)
        with self.assertRaises(TypeError):
            farhash.run(lambda job: None, "2")


class Threads(OneRank):
    def test_one_table(self):
        cache = farhash.Cache(self.job, "i8", "i8", 1 << 16)
        wrong = []

        def work(n):
            for i in range(50):
                keys = np.arange(i, 2000 + i)
                cache.put_batch(keys, -keys)
                values, hits = cache.get_batch(keys)
                wrong.extend(keys[hits & (values != -keys)])
                try:
                    cache.get("x")
                except TypeError:
                    continue
                wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Closed(unittest.TestCase):
    def test_during_a_call(self):
        """A close waits for the call of another thread, and has further ones refused."""
        for what in ("table", "job"):
            with farhash.Job.join() as job:
                cache = farhash.Cache(job, 8, 8, 64)
                closed = cache if what == "table" else job
                thread = threading.Thread(target=closed.close)

                def change(value, found):
                    for of_this_call in (cache, job):
                        with self.assertRaisesRegex(farhash.ArgumentError, "call has ended"):
                            of_this_call.close()
                    thread.start()
                    with self.assertRaises(farhash.ClosedError):
                        while True:
                            job.size if what == "job" else len(cache)
                    thread.join(0.05)
                    self.assertTrue(thread.is_alive())
                    return b"12345678"

                self.assertEqual(cache.update(b"a key of", change), farhash.Stored.NEW)
                thread.join()
                self.assertTrue(closed.closed and cache.closed)
                with self.assertRaises(farhash.ClosedError):
                    cache.get(b"a key of")

    def test_beside_calls(self):
        """Calls beside a close succeed, or fail with a ClosedError."""
        for round in range(100):
            job = farhash.Job.join()
            words, pairs = farhash.Set(job, 1 << 12), farhash.Map(job, 1 << 10, max_bytes=1 << 20)
            errors = []

            def use():
                try:
                    while True:
                        words.find_or_put_batch(np.arange(2000))
                        pairs[b"x"] = b"y"
                        len(pairs), words.shipping
                except BaseException as err:
                    errors.append(err)

            threads = [threading.Thread(target=use) for _ in range(3)]
            threads += [threading.Thread(target=job.close) for _ in range(2)]
            for thread in threads:
                thread.start()
            words.close()
            for thread in threads:
                thread.join()
            self.assertEqual([type(err) for err in errors], 3 * [farhash.ClosedError], errors)


def in_child(table):
    try:
        table.find_or_put(3)
        return "it works"
    except farhash.ForkedError as err:
        return str(err)


class Forks(OneRank):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads

    def test_child(self):
        words = farhash.Set(self.job, 64)
        words.find_or_put(3)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, in_child(words).encode())
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("fork", os.read(read, 1000).decode())
        os.close(read)
        os.close(write)
        self.assertIn(3, words)

    def test_child_that_ends_as_python_does(self):
        farhash.Set(self.job, 64)
        child = multiprocessing.get_context("fork").Process(target=int)
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)

    def test_exec(self):
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
        self.assertEqual(os.system("true"), 0)


INTERRUPTED = """
import farhash, numpy as np, sys
with farhash.Job.join(one_sided=True) as job:
    words = farhash.Set(job, 1 << 16)
    words.find_or_put(0)
    try:
        print("ready", flush=True)
        while True:
            words.find_or_put_batch(np.zeros(1 << 22, np.uint64))
    except KeyboardInterrupt:
        words.check()
        print("interrupted", len(words))
"""

INTERRUPTED_RANKS = """
import farhash, time
def rank(job):
    job.barrier()
    if job.rank == 0:
        print("ready", flush=True)
        while True:
            time.sleep(0.01)
    job.barrier()
try:
    farhash.run(rank, 2)
except KeyboardInterrupt:
    print("interrupted")
"""


class Signals(unittest.TestCase):
    def interrupt(self, program):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "PYTHONPATH": PACKAGE})
        with process:
            self.addCleanup(process.kill)  # if it did not end
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGINT)
            return process.communicate(timeout=60)[0]

    def test_batch(self):
        self.assertEqual(self.interrupt(INTERRUPTED), "interrupted 1\n")

    def test_ranks(self):
        self.assertEqual(self.interrupt(INTERRUPTED_RANKS), "interrupted\n")

    def test_handlers_of_the_program(self):
        got = []
        before = signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
        try:
            with farhash.Job.join() as job:
                words = farhash.Set(job, 1 << 10)
                for i in range(100):
                    os.kill(os.getpid(), signal.SIGUSR1)
                    words.find_or_put_batch(np.arange(500))
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(len(got), 100)


class ExitCode(unittest.TestCase):
    def code(self, error):
        program = f"import farhash; job = farhash.Job.join(); raise {error}('reason')"
        done = subprocess.run([sys.executable, "-c", program], text=True, stderr=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertIn("reason", done.stderr)
        return done.returncode

    def test_of_a_rank_that_fails(self):
        self.assertEqual(self.code("ValueError"), 1)

    def test_of_a_rank_that_has_lost_another(self):
        """By it farhash run knows that this rank is not the one that has failed."""
        self.assertEqual(self.code("farhash.RankError"), 4)


if __name__ == "__main__":
    unittest.main()
