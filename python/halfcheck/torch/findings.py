"""What a record of torch's ops says: which op is wrong in which format, how often, how far."""

import json
import math
from dataclasses import asdict, dataclass

BAD = ("FAIL", "ERROR")


@dataclass
class Finding:
    """An op in one format, on one backend, that does not give what its contract says."""

    op: str
    formats: str
    backend: str
    failed: int  # cases that fail,
    cases: int  # of so many that ran
    wrong: int  # comparisons that do not hold,
    checked: int  # of so many, in the cases that fail
    error: float  # of the worst result,
    bound: float  # in `unit`
    unit: str
    note: str
    repro: str
    verdict: str
    implementation: float  # bounds between the result and the format-exact one; NaN: not measured
    specials: bool  # only on infinities, NaNs and subnormals among the inputs
    alone: "str | None" = None  # what torch does without halfcheck (alone.py); None: nothing is shown

    @property
    def not_finite(self) -> bool:
        """Whether an infinity or NaN came, or was wanted. A NaN is 2^64 ulp from any number."""
        return not math.isfinite(self.error) or self.unit == "ulp" and self.error >= 2.0**63

    @property
    def severity(self) -> float:
        """How many bounds, or units in the last place, the worst one is off."""
        if self.not_finite:
            return math.inf
        if self.bound > 0:
            return self.error / self.bound
        if self.unit == "ulp":
            return self.error
        return 1 if math.isnan(self.implementation) else self.implementation

    def worst(self) -> str:
        """The worst error in words."""
        if self.verdict != "FAIL":
            return self.verdict
        if self.not_finite:
            return "an infinity or NaN where none belongs, or none where one does"
        if self.unit == "ulp":
            return f"{_number(self.error)} ulp off the one right result"
        if self.bound > 0:
            return f"{_number(self.error / self.bound)} times its bound"
        if not math.isnan(self.implementation):
            return f"{_number(self.implementation)} times its bound off the format-exact result"
        return f"{_number(self.error)} results differ from those of the stated order"

    def as_json(self) -> dict:
        """All of it, with hex floats."""
        said = asdict(self)
        for name in ("error", "bound", "implementation"):
            said[name] = said[name].hex()
        return said


def _number(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return str(value)
    return f"{value:,.0f}" if 100 <= value < 1e9 else f"{value:.3g}"


def _real(text) -> float:
    return float.fromhex(text) if isinstance(text, str) else float(text)


def rows_of(path: str) -> list:
    """The results of a record, in its order."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["results"]


def place(row: dict) -> tuple:
    """Backend, op and formats of a generated case's result: op/NAME/FORMATS/..."""
    parts = row["case"].split("/")
    return row["backend"], parts[1], parts[2]


def findings(rows: list) -> list:
    """One finding for each backend, op and formats that failed, the farthest off first.

    What is wrong on special values alone comes last.
    """
    groups = {}
    for row in rows:
        groups.setdefault(place(row), []).append(row)
    found = []
    for (backend, op, formats), group in groups.items():
        bad = [row for row in group if row["verdict"] in BAD]
        if bad:
            found.append(_finding(op, formats, backend, group, bad))
    return sorted(found, key=lambda f: (f.specials, -f.severity, f.op, f.formats, f.backend))


def _finding(op, formats, backend, group, bad):
    def candidate(row):
        return Finding(
            op, formats, backend, len(bad), len(group),
            sum(r.get("wrong", 0) for r in bad), sum(r["checked"] for r in bad),
            _real(row["error"]), _real(row["bound"]), row["unit"], row["note"], row["repro"],
            row["verdict"], _real(row.get("implementation", math.nan)), row["case"].endswith(("/specials", "/subnormals")),
        )

    return min(map(candidate, bad), key=lambda f: (f.specials, -f.severity))


def counts(rows: list) -> dict:
    """(passed, ran) by backend, op and formats."""
    table = {}
    for row in rows:
        passed, ran = table.get(place(row), (0, 0))
        table[place(row)] = (passed + (row["verdict"] == "PASS"), ran + 1)
    return table
