"""A simulation whose ranks share results: a row is computed if no rank has computed it before.

    mpirun -n 4 python3 cache.py
"""
import numpy as np
from mpi4py import MPI

import farhash

CELLS, STEPS = 20_000, 5


def simulate(inputs):
    """Imagine something that takes long. Rows of 3 inputs become rows of 2 outputs."""
    a, b, c = inputs.T
    return np.stack([np.exp(-a / 10), a * b + c], axis=1)


world = MPI.COMM_WORLD
with farhash.Job.from_comm(world) as job:
    cache = farhash.Cache(job, key=("f8", 3), value=("f8", 2), buckets=100_000)
    react = cache.memoize(simulate, digits=4)  # what is equal to 4 digits is one key

    cells = np.arange(world.rank, CELLS, world.size)
    for step in range(1, STEPS + 1):
        inputs = np.stack([20 + cells % 1000 * 1e-2 + step * 1e-9,
                           np.ones(len(cells)), np.full(len(cells), step // 3)], axis=1)
        outputs = react(inputs)
        world.Barrier()

    _, total = cache.all_stats()
    if world.rank == 0:
        asked = total.hits + total.misses
        computed = total.inserted + total.updated + total.evicted  # all of it has been put
        print(f"{asked} results, computed {computed} of them: {100 * computed / asked:.1f} %")
