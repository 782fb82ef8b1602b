"""What each of several processes does; test_ranks.py starts it. Arguments: how the job is joined,
and a folder that all ranks share."""

import os
import sys

import numpy as np

import farhash
from farhash import Answer

N = 1000


def joined(how):
    if how == "join":
        return farhash.Job.join()
    from mpi4py import MPI
    job = farhash.Job.from_comm(MPI.COMM_WORLD)
    assert (job.rank, job.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    return job


def words(job):
    """Of all ranks that put a word exactly one finds it new."""
    seen = farhash.Set(job, 1 << 12)
    counts = farhash.Cache(job, "i8", "i8", 100)
    results = seen.find_or_put_batch(np.arange(N))
    counts.put(job.rank, int((results == Answer.INSERTED).sum()))
    job.barrier()
    assert sum(counts.get_batch(np.arange(job.size))[0]) == N == len(seen)
    seen.check()
    seen.save(os.path.join(sys.argv[2], "words"))
    with farhash.Set(job, 1 << 12) as other:
        other.load(os.path.join(sys.argv[2], "words"))
        assert other.contains_batch(np.arange(N)).all()
        job.barrier()


def elements(job):
    """A name means the same on every rank."""
    table = farhash.ByteSet(job, ("i4", 5), 1 << 12)
    mine = np.random.default_rng(8).integers(0, 99, (N, 5), np.int32)
    _, refs = table.find_or_put_refs(mine)
    names = farhash.Cache(job, "i8", ("u8", N), 100)
    names.put(job.rank, refs)
    job.barrier()
    for rank in range(job.size):
        assert (names.get(rank) == refs).all()
    assert (table.get(refs[job.rank]) == mine[job.rank]).all()


def cache(job):
    """What one rank has computed the others need not."""
    table = farhash.Cache(job, ("f8", 2), "f8", 2 * N)
    computed = []

    def add(inputs):
        computed.extend(inputs)
        return inputs.sum(axis=1)

    fast = table.memoize(add)
    inputs = np.random.default_rng(9).random((N, 2))
    for rank in range(job.size):
        if rank == job.rank:
            assert (fast(inputs) == inputs.sum(axis=1)).all()
        job.barrier()
    assert len(computed) == (N if job.rank == 0 else 0)
    ranks, total = table.all_stats()
    assert total.hits == N * (job.size - 1) and total.occupied == N
    assert ranks[job.rank] == table.stats()._replace(occupied=ranks[job.rank].occupied)
    table.check()


def pairs(job):
    """What one rank has put all others get; of all that swap one succeeds at a time."""
    table = farhash.Map(job, 2 * N * job.size, job.size << 18, 8, 8)
    mine = np.arange(job.rank, N, job.size)
    table.put_batch(mine, -mine)
    for _ in range(50):
        done = False
        while not done:
            value, version = table.get_version(b"counter")
            done, _ = table.compare_and_put(b"counter", b"%d" % (int(value or 0) + 1), version)
    job.barrier()
    assert table.get(b"counter") == b"%d" % (50 * job.size)
    found = np.empty(N, np.int64)
    assert table.get_into(np.arange(N), found).all() and (found == -np.arange(N)).all()
    job.barrier()


def index(job):
    """Records of all ranks, and a file of them."""
    mine = np.arange(job.rank, N, job.size)
    path = os.path.join(sys.argv[2], "index")
    with farhash.Index(job, "i8", "i8", mine, -mine) as table:
        assert (table.get_batch(np.arange(N))[0] == -np.arange(N)).all()
        table.check()
        table.save(path)
    with farhash.Index.open(job, path, "i8", "i8") as table:
        assert table.get(N - 1) == 1 - N and len(table) == N
        job.barrier()


def square(number):
    """For calls; only rank 0 gets to compute."""
    assert os.environ["FARHASH_TEST_RANK"] == "0"
    return number * number


def calls(job):
    """A call that one rank has made the others need not."""
    os.environ["FARHASH_TEST_RANK"] = str(job.rank)
    fast = farhash.Cache(job, 16, 64, 100).memoize(square, pickled=True)
    for rank in range(job.size):
        if rank == job.rank:
            assert [fast(i) for i in range(3)] == [0, 1, 4]
        job.barrier()


def shipped(job):
    """Rank 1 does what rank 0 ships."""
    access = farhash.Access.SHIPPED
    keys = np.arange(N)
    tables = [farhash.Set(job, 4 * N, access=access), farhash.ByteSet(job, 8, 4 * N, access=access),
              farhash.Cache(job, "i8", "i8", 4 * N, access=access),
              farhash.Map(job, 4 * N * job.size, job.size << 18, 8, 8, access=access),
              farhash.Index(job, "i8", "i8", keys if job.rank == 0 else keys[:0],
                            -keys if job.rank == 0 else keys[:0], access=access)]
    words, strings, values, pairs, index = tables
    if job.rank == 0:
        assert (words.find_or_put_batch(keys) == Answer.INSERTED).all()
        assert (strings.find_or_put_batch(keys) == Answer.INSERTED).all()
        values.put_batch(keys, keys)
        pairs.put_batch(keys, keys)
        assert (index.get_batch(keys)[0] == -keys).all()
    job.barrier()
    for table in tables:
        shipping = table.shipping
        assert shipping.min_batch == 1 and "shipped" in shipping.reason, shipping
        assert (shipping.served > 0) == (job.rank == 1), (table, shipping)


def communicators(how):
    """Jobs of other communicators: here of all processes in the opposite order."""
    if how != "comm" or os.environ.get("FARHASH_ENGINE") == "mpi":
        return
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    with farhash.Job.from_comm(world.Split(0, -world.rank)) as job:
        assert job.rank == world.size - 1 - world.rank
        words(job)
    try:
        farhash.Job.from_comm(MPI.COMM_NULL)
    except farhash.FarhashError as err:
        assert "NULL" in str(err), err


def main():
    how = sys.argv[1]
    with joined(how) as job:
        for part in (words, elements, cache, pairs, index, calls):
            part(job)
            job.barrier()
        communicators(how)
        rank = job.rank
    if how == "comm" and os.environ.get("FARHASH_ENGINE") == "mpi":
        from mpi4py import MPI
        with farhash.Job.from_comm(MPI.COMM_WORLD, one_sided=True) as job:
            shipped(job)
    # One string for both lines of one: what ranks print may be mixed.
    sys.stdout.write(f"rank {rank} is well\n")


if __name__ == "__main__":
    main()
