"""The plug-in, in a pytest of its own."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from widths import widest

HERE = Path(__file__).parent


@pytest.fixture
def run(tmp_path):
    """Runs pytest on a file, and gives what it prints at 80 columns.

    It runs as at somebody's desk: pytest cuts the lines of its summary to the terminal's width
    unless it finds one of the variables that services set.
    """
    at_a_desk = {name: value for name, value in os.environ.items()
                 if name not in ("CI", "BUILD_NUMBER")}

    def pytest_on(text, *options):
        (tmp_path / "test_mine.py").write_text(
            f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport kernels, numpy as np, pytest\n" +
            textwrap.dedent(text))
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p",
             "halfcheck.pytest_plugin", *options, "test_mine.py"], cwd=tmp_path, check=False,
            env={**at_a_desk, "COLUMNS": "80"}, stdout=subprocess.PIPE, text=True)
        return ended.returncode, ended.stdout
    return pytest_on


ADAMW = """
    @pytest.mark.halfcheck(op="adamw", formats=["bf16-state-bf16"])
    def test_adamw(halfcheck):
        halfcheck(kernels.{})
"""


def test_each_case_is_a_test_with_its_name(run):
    status, said = run(ADAMW.format("loop"), "-v")
    assert status == 0, said
    assert "test_adamw[bf16-state-bf16/257/normal] PASSED" in said
    assert "test_adamw[bf16-state-bf16/257-eps-inside/normal] SKIPPED" in said


def test_a_failure_fits_into_the_terminal(run):
    status, said = run(ADAMW.format("no_bias_correction"), "-k", "257/normal")
    assert status == 1
    block = said[said.index("FAILURES"):]
    assert "halfcheck(kernels.no_bias_correction)" in block
    assert re.search(r"E +wrong +new_\w\[\d+\]", block), block
    assert "checks.py" not in block and "pytest_plugin.py" not in block, block
    assert widest(block) <= 80, block


def test_a_function_that_each_test_makes_is_checked_case_by_case(run):
    status, said = run("""
        @pytest.mark.halfcheck(op="sqrt", formats=["fp32"], level="quick")
        def test_root(halfcheck):
            halfcheck(lambda x: np.sqrt(x))
    """, "-rs")
    assert status == 0 and re.search(r"[1-9]\d* passed", said), said


def test_what_a_function_raises_is_shown_where_it_was_raised(run):
    status, said = run("""
        def broken(x):
            raise ZeroDivisionError("in my own code")
        @pytest.mark.halfcheck(op="sqrt", formats=["fp32"], level="quick")
        def test_root(halfcheck):
            halfcheck(broken)
    """)
    assert status == 1
    assert ">       raise ZeroDivisionError" in said, said


@pytest.mark.parametrize("marker, why", [
    ('op="sqrd"', "no op 'sqrd'. Did you mean 'sqrt'"),
    ('op="sqrt", formats=["x"]', "no cases of sqrt in 'x'"),
    ('', "op"),
    ('op="sqrt", format="fp32"', "unexpected keyword argument 'format'"),
])
def test_a_bad_marker_is_refused(run, marker, why):
    status, said = run(f"""
        @pytest.mark.halfcheck({marker})
        def test_root(halfcheck):
            halfcheck(np.sqrt)
    """)
    assert status == 4 or status == 2, said
    assert why in said


def test_the_fixture_wants_its_marker(run):
    status, said = run("""
        def test_root(halfcheck):
            halfcheck(np.sqrt)
    """)
    assert status == 1 and "wants a marker" in said
