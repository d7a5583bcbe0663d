#!/usr/bin/env python3
"""Puts how tight bounds are into docs/definitions.md, from orders.txt beside this file:
tightness.py writes it, tightness.py --check says whether the page has it."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "definitions.md"
FORMATS = ("fp32", "blocks", "fp16", "bf16")
FIRST, LAST = "| definition | fp32 | its blocks(16) | fp16 | bf16 |", "\n\n"
GOALS = {"fp32": 0.05, "blocks": 0.05, "fp16": 0.25, "bf16": 0.25}


def rows():
    """{definition: {format: (worst, median)}}."""
    found = {}
    for line in (HERE / "orders.txt").read_text(encoding="utf-8").splitlines():
        row = re.match(r"(\w+) +(fp32|blocks|fp16|bf16) +(\S+)  .*?(\S+) +\d+  \d+$", line)
        if row:
            found.setdefault(row[1], {})[row[2]] = float(row[3]), float(row[4])
    return found


def misses(name, form, worst):
    """Whether a result is below its goal: that of fp32 where the text returns nothing else."""
    text = (HERE.parents[2] / "definitions" / f"{name}.op").read_text(encoding="utf-8")
    results = re.search(r"^return (.*)", text, re.M)[1].split(",")
    form = "blocks" if all(result.endswith(": fp32") for result in results) else form
    return 0 < worst < GOALS[form]


def table(found):
    """The table: what misses its goal is set in bold."""
    lines = [FIRST, "|---|---|---|---|---|"]
    for name, of in sorted(found.items()):
        cells = []
        for form in FORMATS:
            worst, median = of[form]
            text = f"{worst:.2g}, {median:.2g}" if worst else "exact"
            cells.append(f"**{text}**" if misses(name, form, worst) else text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    page = PAGE.read_text(encoding="utf-8")
    found = rows()
    first = page.index(FIRST)
    last = page.index(LAST, first)
    wanted = page[:first] + table(found) + page[last:]
    if sys.argv[1:] == ["--check"]:
        return 0 if wanted == page else 1
    PAGE.write_text(wanted, encoding="utf-8")
    for form in FORMATS:
        missing = [name for name, of in sorted(found.items()) if misses(name, form, of[form][0])]
        print(f"{form}: {len(found) - len(missing)} of {len(found)} reach {GOALS[form]}; not "
              f"{', '.join(missing) or 'one'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
