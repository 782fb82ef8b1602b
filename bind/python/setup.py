"""Builds libfarhash for the wheel; pyproject.toml has all else.

The wheel gets the library without MPI, and one for each MPI that pkg-config knows. They are built
by scripts/install of the sources that this folder is in, with Go and a C compiler (GO, CC).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

SOURCES = Path(__file__).resolve().parents[2]
MODULES = {"openmpi": "ompi-c", "mpich": "mpich"}


def variants():
    """The libraries that can be built here, as scripts/install calls them."""
    found = ["none"]
    for variant, module in MODULES.items():
        command = ["pkg-config", "--exists", module]
        if shutil.which("pkg-config") and subprocess.run(command, check=False).returncode == 0:
            found.append(variant)
    return found


def need():
    """Ends the build with what is missing, and what to do about it."""
    missing = []
    if not (SOURCES / "scripts" / "install").exists():
        missing.append(f"{SOURCES} is no clone of farhash: the library is built from the whole "
                       "repository, so run `pip install ./bind/python` in a clone, with pip 21.3 or "
                       "later")
    for variable, usual, package in (("GO", "go", "https://go.dev/dl"),
                                     ("CC", "gcc", "apt install gcc")):
        program = os.environ.get(variable, usual)
        if shutil.which(program.split()[0]) is None:
            missing.append(f"there is no {program}, which builds the library: install it "
                           f"({package}), or name another one by {variable}")
    if not sys.platform.startswith("linux"):
        missing.append(f"the library is for Linux, and this is {sys.platform}")
    if missing:
        raise SystemExit("farhash: " + "\nfarhash: ".join(missing))


class Build(build_py):
    """Adds the libraries to the package."""

    def run(self):
        super().run()
        need()
        if self.editable_mode:
            folder = Path(__file__).resolve().parent / "farhash"
        else:
            folder = Path(self.build_lib) / "farhash"
        with tempfile.TemporaryDirectory() as prefix:
            # PYTHON is one that does not exist: the package itself is not wanted there.
            done = subprocess.run([str(SOURCES / "scripts" / "install"), prefix, *variants()],
                                  env={**os.environ, "DESTDIR": "", "PYTHON": "false"},
                                  check=False)
            if done.returncode:
                raise SystemExit("farhash: the library has not been built, see above")
            for name in ("LICENSE", "NOTICES"):
                shutil.copyfile(SOURCES / name, folder / name)
            for link in Path(prefix, "lib").glob("libfarhash*.so.[0-9]"):
                if not link.name.startswith("libfarhash_dht"):
                    shutil.copyfile(link, folder / link.name)


class Wheel(bdist_wheel):
    """A wheel for this platform and any Python 3: the library does not use Python's."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    """Has setuptools put all into the folder for what depends on the platform."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": Build, "bdist_wheel": Wheel}, distclass=WithLibrary)
