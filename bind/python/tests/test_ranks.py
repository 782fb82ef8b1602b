"""Ranks that are processes, started by both MPIs."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_library import PACKAGE, python

RANKS = 2
FOLDER = os.path.dirname(os.path.abspath(__file__))
OPTIONS = {"openmpi": ["--oversubscribe", "--bind-to", "none"], "mpich": []}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpi_of_mpi4py():
    """The MPI that mpi4py is linked with, as it calls itself; asked in another process, so that MPI does not start in
    this process."""
    return python("from mpi4py import MPI; print(MPI.Get_library_version())", **AS_ROOT)


def launch(mpi, *arguments, **environment):
    """What programs print that a launcher has started."""
    launcher = shutil.which(f"mpirun.{mpi}")
    if launcher is None:
        raise unittest.SkipTest(f"there is no mpirun.{mpi}")
    env = {**os.environ, **AS_ROOT, "PYTHONPATH": PACKAGE, **environment}
    done = subprocess.run([launcher, *OPTIONS[mpi], "-n", str(RANKS), sys.executable, *arguments],
                          env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise AssertionError(f"{launcher}: exit code {done.returncode}: {done.stdout}")
    return done.stdout


class Ranks(unittest.TestCase):
    def run_ranks(self, mpi, how, **environment):
        with tempfile.TemporaryDirectory() as folder:
            said = launch(mpi, os.path.join(FOLDER, "ranks.py"), how, folder, **environment)
        self.assertEqual(sorted(said.splitlines()), [f"rank {r} is well" for r in range(RANKS)])

    def need_mpi4py(self, mpi, name):
        if importlib.util.find_spec("mpi4py") is None:
            self.skipTest("there is no mpi4py")
        used = mpi_of_mpi4py()
        if not used.startswith(name):
            self.skipTest(f"mpi4py uses {used[:30].strip()}, not {name}")
        folder = os.environ.get("FARHASH_LIBRARY", "")
        if not os.path.exists(os.path.join(folder, f"libfarhash-{mpi}.so.0")):
            self.skipTest(f"FARHASH_LIBRARY names no folder with libfarhash-{mpi}")

    def test_join_openmpi(self):
        self.run_ranks("openmpi", "join")

    def test_join_mpich(self):
        self.run_ranks("mpich", "join")

    def test_communicator_openmpi(self):
        self.need_mpi4py("openmpi", "Open MPI")
        self.run_ranks("openmpi", "comm")

    def test_communicator_carried_by_openmpi(self):
        self.need_mpi4py("openmpi", "Open MPI")
        # The default of Open MPI 4 does not work on one host.
        self.run_ranks("openmpi", "comm", FARHASH_ENGINE="mpi", OMPI_MCA_osc="sm,pt2pt")

    def test_communicator_mpich(self):
        self.need_mpi4py("mpich", "MPICH")
        self.run_ranks("mpich", "comm")
        self.run_ranks("mpich", "comm", FARHASH_ENGINE="mpi")

    def test_example(self):
        self.need_mpi4py("openmpi", "Open MPI")
        example = os.path.join(FOLDER, "..", "..", "examples", "python", "cache.py")
        if not os.path.exists(example):
            self.skipTest("there is no example beside these tests")
        self.assertRegex(launch("openmpi", example), r"^100000 results, computed 2\d{3} of them")


if __name__ == "__main__":
    unittest.main()
