"""What a watch has seen as a record of halfcheck, which `halfcheck gate` compares with another: a
result for each operator, layer and pass, format and result. Its error is that of the worst element
by its bound, so that other data do not make another claim of it."""

import datetime
import math
import platform
import sys

from . import program


def record(seen):
    """The document. Rows of which no element could be judged are no results."""
    results = [_result(row, seen.backend) for row in seen.rows.values()
               if row["ratio"] >= 0 or not row["worst"]]
    results.append(_rules(seen))
    return {"schema": 1, "environment": _environment(),
            "backends": {seen.backend: {seen.backend: seen.version}},
            "run": {"command": ["python", *map(str, sys.argv)], "patterns": ["watch/*"],
                    "level": None, "seed": str(seen.seed), "backends": [seen.backend], "faults": [],
                    "cut": None},
            "results": sorted(results, key=lambda result: result["case"]),
            "watch": {"steps": seen.steps, "made": seen.made, "judged": seen.asked,
                      "elements": seen.elements}}


def _result(row, backend):
    place = row["place"].replace(", ", "/").replace(" ", "-")
    output = "" if row["output"] == "y" else "/" + row["output"]
    error = max(row["ratio"], 0.0)
    worst = row["worst"]
    note = "" if not row["wrong"] else (
        f"{row['wrong']} of {row['calls']} calls; {row['where']}; real {worst['real']}, "
        f"got {worst['got']}, bound {worst['bound']}")
    return {"case": f"watch/{place}/{row['operator']}{output}/{row['format']}", "backend": backend,
            "verdict": "FAIL" if row["wrong"] else "PASS", "checked": row["calls"],
            **({"wrong": row["wrong"]} if row["wrong"] else {}),
            "error": error.hex() if math.isfinite(error) else "inf", "bound": 1.0.hex(),
            "unit": "bounds", "seed": "0", "seconds": 0.0, "note": note,
            "repro": "halfcheck judge --lines wrong.lines" if row["wrong"] else ""}


def _rules(seen):
    """Whether something was used against its library's rules, in one result."""
    broken = len(seen.misused)
    return {"case": "watch/rules", "backend": seen.backend, "verdict": "FAIL" if broken else "PASS",
            "checked": max(seen.steps, broken), **({"wrong": broken} if broken else {}),
            "error": "inf" if broken else 0.0.hex(), "bound": 1.0.hex(), "unit": "bounds",
            "seed": "0", "seconds": 0.0,
            "note": "; ".join(f"{words}; {where}" for words, where in seen.misused.items()),
            "repro": ""}


def _environment():
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "halfcheck": program.version(),
            "os": f"{platform.system()} {platform.release()} {platform.machine()}"}
