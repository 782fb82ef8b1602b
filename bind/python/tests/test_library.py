"""Which library is loaded, and what is said if it is not there."""

import os
import subprocess
import sys
import tempfile
import unittest

import farhash

PACKAGE = os.path.dirname(os.path.dirname(farhash.__file__))


def python(program, **environment):
    """What a program of Python prints."""
    env = {**os.environ, "PYTHONPATH": PACKAGE, **environment}
    done = subprocess.run([sys.executable, "-c", program], env=env, cwd="/", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


JOIN = """
import farhash
try:
    farhash.Job.join()
    print("joined")
except farhash.LibraryError as err:
    print(err)
"""

FAKE_MPI = """
import sys, types
mpi = types.ModuleType("mpi4py.MPI")
mpi.Get_library_version = lambda: "%s"
sys.modules["mpi4py.MPI"] = mpi
class Comm:
    def py2f(self): return 0
import farhash
try:
    farhash.Job.from_comm(Comm())
except farhash.FarhashError as err:
    print(type(err).__name__, err)
"""


class Library(unittest.TestCase):
    def test_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            said = python(JOIN, FARHASH_LIBRARY=folder)
        for part in ("libfarhash.so.0", folder, "make install", "without MPI", "FARHASH_LIBRARY"):
            self.assertIn(part, said)
        self.assertIn("/nowhere.so", python(JOIN, FARHASH_LIBRARY="/nowhere.so"))

    def test_another_library(self):
        self.assertIn("no libfarhash", python(JOIN, FARHASH_LIBRARY="libm.so.6"))

    def test_another_version(self):
        said = python("import farhash.library\nfarhash.library.__version__ = '7.1.0'\n" + JOIN)
        self.assertIn("7.1.0", said)
        self.assertIn(farhash.__version__, said)

    def test_file_by_its_name(self):
        folder = os.environ.get("FARHASH_LIBRARY", "")
        file = os.path.join(folder, "libfarhash.so.0")
        if not os.path.exists(file):
            self.skipTest("FARHASH_LIBRARY names no folder with libfarhash")
        self.assertEqual(python(JOIN, FARHASH_LIBRARY=file), "joined\n")

    def test_found_above_the_package(self):
        folder = os.environ.get("FARHASH_LIBRARY", "")
        if not os.path.exists(os.path.join(folder, "libfarhash.so.0")):
            self.skipTest("FARHASH_LIBRARY names no folder with libfarhash")
        with tempfile.TemporaryDirectory() as prefix:
            site = os.path.join(prefix, "lib", "python3", "site-packages")
            os.makedirs(site)
            os.symlink(os.path.join(folder, "libfarhash.so.0"),
                       os.path.join(prefix, "lib", "libfarhash.so.0"))
            subprocess.run(["cp", "-r", os.path.dirname(farhash.__file__), site], check=True)
            said = python(JOIN, PYTHONPATH=site, FARHASH_LIBRARY="")
        self.assertEqual(said, "joined\n")

    def test_mpi_without_a_library(self):
        said = python(FAKE_MPI % "Intel(R) MPI Library 2021", FARHASH_LIBRARY="")
        self.assertRegex(said, "LibraryError.*Intel")
        with tempfile.TemporaryDirectory() as folder:
            for mpi, name in (("Open MPI v4", "openmpi"), ("MPICH Version: 4", "mpich")):
                said = python(FAKE_MPI % mpi, FARHASH_LIBRARY=folder)
                self.assertIn(f"libfarhash-{name}.so.0", said)

    def test_library_for_another_mpi(self):
        program = "import farhash\nfarhash.Job.join()\n" + FAKE_MPI % "Open MPI v0.1, of old"
        said = python(program)
        self.assertRegex(said, "UnsupportedError.*Open MPI v0.1, and .*has no MPI")

    def test_no_communicator(self):
        with self.assertRaisesRegex(TypeError, "COMM_WORLD"):
            farhash.Job.from_comm(0)


if __name__ == "__main__":
    unittest.main()
