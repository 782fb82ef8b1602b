"""What calls take from Python: ``python3 -m farhash.bench [PAIRS]``.

It prints a line ``NAME NANOSECONDS`` for each: of batches per item, of single calls per call.
Keys have 80 bytes and values 104; each figure is the best of several rounds. docs/python.md
says how to see them beside the results of Go.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Callable

import numpy as np

import farhash

KEY, VALUE, BATCH, SINGLE, ROUNDS = 80, 104, 1 << 19, 1 << 16, 5


def measure(name: str, items: int, call: Callable[[], Any]) -> None:
    """Prints what an item takes of a call that has so many."""
    least = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        call()
        least = min(least, (time.perf_counter_ns() - begin) / items)
    print(f"{name} {least:.1f}", flush=True)


def batches(pairs: int, cache: farhash.Cache, words: farhash.Set) -> None:
    random = np.random.default_rng(1)
    keys = random.integers(0, 256, (pairs, KEY), np.uint8)
    values = random.integers(0, 256, (pairs, VALUE), np.uint8)
    numbers = random.integers(0, 1 << 63, pairs, np.uint64)
    cache.put_batch(keys, values)
    words.find_or_put_batch(numbers)
    chosen = random.integers(0, pairs, BATCH)
    keys, values, numbers = keys[chosen], values[chosen], numbers[chosen]
    out = np.empty_like(values)
    measure("get-batch", BATCH, lambda: cache.get_batch(keys, out))
    measure("put-batch", BATCH, lambda: cache.put_batch(keys, values))
    measure("find-or-put-batch", BATCH, lambda: words.find_or_put_batch(numbers))
    measure("contains-batch", BATCH, lambda: words.contains_batch(numbers))
    some = [(k.tobytes(), v.tobytes()) for k, v in zip(keys[:SINGLE], values)]
    singles(cache, words, some, numbers[:SINGLE].tolist())


def singles(cache: farhash.Cache, words: farhash.Set, pairs: list[tuple[bytes, bytes]],
            numbers: list[int]) -> None:
    def each(call: Callable[..., Any], items: list[Any]) -> None:
        for item in items:
            call(item)

    def put() -> None:
        for key, value in pairs:
            cache.put(key, value)

    measure("get", SINGLE, lambda: each(cache.get, [key for key, _ in pairs]))
    measure("put", SINGLE, put)
    measure("find-or-put", SINGLE, lambda: each(words.find_or_put, numbers))
    measure("contains", SINGLE, lambda: each(words.contains, numbers))


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    with farhash.Job.join() as job:
        batches(pairs, farhash.Cache(job, KEY, VALUE, 2 * pairs), farhash.Set(job, 2 * pairs))


if __name__ == "__main__":
    main()
