"""The planted faults of reports/measured/definitions/power: each can be planted, and what the pages
say of them is what was measured."""

import pathlib
import re
import subprocess
import sys

import pytest

import halfcheck.program

torch = pytest.importorskip("torch")

TOP = pathlib.Path(__file__).resolve().parents[2]
MEASURED = TOP / "reports" / "measured" / "definitions"
sys.path.insert(0, str(MEASURED / "power"))

import power  # noqa: E402


def test_each_fault_can_be_planted_and_has_a_line():
    page = (TOP / "docs" / "definitions.md").read_text()
    for table, least, sentence in (("faults.txt", 120, "{} faults were planted"),
                                   ("later.txt", 90, "planted {} more")):
        said = (MEASURED / table.replace("faults", "power")).read_text().splitlines()
        rows = power.faults(table)
        assert len(rows) >= least
        for kernel, what, edits, reason in rows:
            power.planted(kernel, edits)
            line = said[said.index(f"{kernel}: {what}") + 1]
            assert (f"MISSED: {reason}" in line) == (reason is not None), (kernel, what)
        caught = sum(reason is None for *_, reason in rows)
        assert said[-1] == f"{caught} of {len(rows)} faults caught"
        assert sentence.format(len(rows)) in page and f"{caught} are caught" in page


def test_faults_are_caught_and_a_right_kernel_is_not():
    def run(*words):
        return subprocess.run([sys.executable, "-B", MEASURED / "power" / "power.py",
                               halfcheck.program.path(), *words], stdout=subprocess.PIPE, text=True,
                              check=False)
    done = run("ema", "swiglu", "softmax__tiles")
    assert done.returncode == 0 and "8 of 8 faults caught" in done.stdout, done.stdout
    assert re.search(r"not rescaled\n  bf16, normal, n=5 c=17: y\[4, 11\], 27.1 of its bound, from l",
                     done.stdout)
    # A fault in a constant of the kernel's own stays, whatever check would say the option is.
    done = run("softplus")
    assert done.returncode == 0 and "threshold is 2\n  bf16, normal" in done.stdout, done.stdout
    done = run("--right", "20", "ema", "swiglu")
    assert done.returncode == 0 and done.stdout.count("passes") == 2, done.stdout


def test_the_page_has_the_table_of_tightness():
    assert subprocess.run([sys.executable, "-B", MEASURED / "tightness.py", "--check"],
                          check=False).returncode == 0
