"""The pytest plug-in: one test for each case of an op.

    @pytest.mark.halfcheck(op="adamw", formats=["bf16"])
    def test_adamw(halfcheck):
        halfcheck(my_adamw)
"""

import fnmatch

import pytest

_MARKER = ("halfcheck(op, formats=None, order=None, level='standard', seed=0, arrays=None, "
           "layout='nchw', cases=None): run the generated cases of an op on the function that the "
           "test gives to the fixture `halfcheck`, one test for each case")


def pytest_configure(config):
    """Makes the marker known."""
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc):
    """One test for each case."""
    marker = metafunc.definition.get_closest_marker("halfcheck")
    if marker is None or "halfcheck" not in metafunc.fixturenames:
        return
    from .program import Error
    try:
        cases = _cases(**marker.kwargs)
    except (Error, TypeError, ValueError) as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from error
    op = marker.kwargs["op"]
    ids = [case.replace(f"op/{op}/", "", 1) for case in cases]
    metafunc.parametrize("halfcheck", cases, ids=ids, indirect=True)


def _cases(op, formats=None, order=None, level="standard", seed=0, arrays=None, layout="nchw",
           cases=None):
    del seed, arrays, layout
    from .checks import case_names, patterns_of
    from .program import op_named
    op_named(op)
    patterns = cases or patterns_of(op, formats, order)
    return [case for case in case_names(level)
            if any(fnmatch.fnmatchcase(case, pattern) for pattern in patterns)]


@pytest.fixture
def halfcheck(request):
    """Checks a function on the case of this test: halfcheck(my_adamw)."""
    marker = request.node.get_closest_marker("halfcheck")
    if marker is None or not hasattr(request, "param"):
        raise pytest.UsageError("the fixture `halfcheck` wants a marker: "
                                "@pytest.mark.halfcheck(op=...)")
    return _Check(request, marker, request.param)


class _Check:
    """What the fixture is: a function that shows itself by its case."""

    def __init__(self, request, marker, case):
        self.request, self.case = request, case
        self.options = {key: value for key, value in marker.kwargs.items() if key != "cases"}

    def __call__(self, fn):
        __tracebackhide__ = True
        from .checks import Job
        job = Job(fn, **self.options)
        report = _remembered(self.request, job, fn, self.case)
        mine = report.only(self.case)
        if not mine.results:
            pytest.skip("; ".join(report.left_out) or "the case was left out")
        if not mine.ok:
            raise job.wrong(mine)
        return mine

    def __repr__(self):
        return self.case


def _remembered(request, job, fn, case):
    """The report that has the case. A function that several tests give is run on all of their
    cases at once; one that is made anew for each test is run on its own."""
    __tracebackhide__ = True
    store = request.config.__dict__.setdefault("_halfcheck", {})
    key = (request.node.function, fn)
    if key not in store:
        cases = [item.callspec.params["halfcheck"] for item in request.session.items
                 if getattr(item, "function", None) is request.node.function]
        shared = getattr(fn, "__globals__", {}).get(getattr(fn, "__name__", "")) is fn
        report = job.run(cases if shared else [case])
        if not shared:
            return report
        store[key] = report
    return store[key]
