"""The halfcheck program itself: where it is, and what it says of itself."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


class Error(Exception):
    """Something is wrong with a command or with the machine, not with numbers."""


Error.__module__ = "halfcheck"  # where people find it


def version():
    """The package's version. CMakeLists.txt says it, also in a checkout that is not installed."""
    lists = _HERE.parent.parent / "CMakeLists.txt"
    if lists.is_file():
        found = re.search(r"project\(halfcheck VERSION ([0-9.]+)", lists.read_text("utf-8"))
        if found:
            return found[1]
    from importlib import metadata
    try:
        return metadata.version("halfcheck")
    except metadata.PackageNotFoundError:
        return "unknown"


@functools.lru_cache(maxsize=None)
def _checked(path):
    try:
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=False,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).stdout.split()
    except OSError as error:
        raise Error(f"{path} cannot be run: {error.strerror}") from error
    if said[:1] != ["halfcheck"] or len(said) < 2:
        raise Error(f"{path} is no halfcheck")
    if said[1] != version() != "unknown":
        raise Error(f"{path} is halfcheck {said[1]}, and this package is {version()}: "
                    "install both from one checkout")
    return path


def path(search=True):
    """The program: $HALFCHECK_PROGRAM, or the one in this package, or the one on the PATH."""
    chosen = os.environ.get("HALFCHECK_PROGRAM")
    if chosen:
        if not os.path.isfile(chosen):
            raise Error(f"HALFCHECK_PROGRAM is {chosen}, and there is no such file")
        return _checked(os.path.abspath(chosen))
    own = _HERE / "bin" / "halfcheck"
    found = str(own) if own.is_file() else shutil.which("halfcheck") if search else None
    if not found:
        raise Error(f"there is no program halfcheck in {own.parent} nor on the PATH: install the "
                    "package (pip install .), or set HALFCHECK_PROGRAM to a halfcheck")
    return _checked(found)


def main():
    """The command `halfcheck` of an installed package: the program in it."""
    try:
        program = path(search=False)  # what the PATH has may be this command
    except Error as error:
        print(f"halfcheck: {error}", file=sys.stderr)
        sys.exit(2)
    os.execv(program, ["halfcheck", *sys.argv[1:]])


@functools.lru_cache(maxsize=None)
def _ops(program):
    text = subprocess.run([program, "list", "ops", "--json"], stdout=subprocess.PIPE, check=True,
                          stdin=subprocess.DEVNULL).stdout
    return {op["name"]: op for op in json.loads(text)}


def ops():
    """What halfcheck says of each op, by name."""
    return _ops(path())


@functools.lru_cache(maxsize=None)
def _library(program):
    said = subprocess.run([program, "define"], stdout=subprocess.PIPE, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout
    return said.split()


def library():
    """The names of the library's definitions."""
    return _library(path())


def op_named(name):
    """What halfcheck says of an op. ValueError if there is none of that name."""
    if name in ops():
        return ops()[name]
    from .names import resolved  # which says what there is instead
    return ops()[resolved(name).op]


def said(*words):
    """What the program prints."""
    return subprocess.run([path(), *words], stdout=subprocess.PIPE, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout.rstrip("\n")


def has_option(command, option):
    """Whether this program's command has the option."""
    said = subprocess.run([path(), command, "--help"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout
    return f"\n  {option} " in said


def slots(op, direction="in"):
    """The names of an op's inputs ("in") or outputs ("out")."""
    return [slot["name"] for slot in op_named(op)["slots"] if slot["direction"] == direction]


def op_names(op):
    """The names that the parameters of a function for the op may have."""
    from .binding import known_names
    params = [param["name"] for param in op_named(op).get("params", [])]
    return known_names(slots(op), params)
