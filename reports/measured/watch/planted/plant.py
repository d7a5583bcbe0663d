"""Plants each bug of bugs.py into its training, and writes down what the watch says.

    python3 plant.py                all of them, into planted.json and planted.txt beside this file
    python3 plant.py NAME...        these ones alone
    python3 plant.py --table        planted.txt once more, of planted.json
    python3 plant.py --more [...]   the same for the bugs of more.py: more.json and more.txt

A bug is found if a line of the report matches what the bug says of itself, `at`, and the training
without the bug has no such line, or has it with less than a tenth of the error. Another new line is
a false alarm. It needs PyTorch 2.15 and halfcheck's package, and takes two minutes of processor
time."""

import contextlib
import json
import os
import re
import sys
import textwrap

import torch

import halfcheck.torch
import bugs
import more
from networks import Training

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 2


def seen_of(network, precision, plant=None, **views):
    """What the watch says of a training, with a bug or without."""
    training = Training(network, precision)
    kernels = plant(training) if plant else None
    with kernels or contextlib.nullcontext():
        optimizer = getattr(training.optimizer, "inner", training.optimizer)
        with halfcheck.torch.watch(optimizer, **views) as seen:
            for _ in range(STEPS):
                training.step()
    if kernels is not None and not kernels.calls:
        raise SystemExit(f"{plant.__name__}: its operator is never called")
    return seen


def lines_of(seen):
    """Each thing that the report says is wrong: where it is, and how far off."""
    lines = {}
    for row in seen.wrong():
        output = "" if row["output"] == "y" else f", {row['output']}"
        lines.setdefault(f"{row['operator']}{output}, {row['format']}",
                         (row["ratio"], row["place"]))
    for kind, (line, _) in seen.first.items():
        lines[f"first {kind}: {line.operator}, {line.format}"] = 1.0, line.place()
    for words, where in seen.misused.items():
        lines[words] = 1.0, where
    for name in seen.gradients:
        lines[f"gradient of {name} is not its derivative"] = 1.0, "backward"
    for words, where in {**seen.coarse, **seen.doubtful}.items():
        lines[words] = 1.0, where
    return lines


def tried(bug, right):
    """What planting it shows."""
    new = {key: (ratio, place)
           for key, (ratio, place) in lines_of(seen_of(bug.network, bug.precision,
                                                       bug.plant)).items()
           if key not in right or ratio >= 10 * right[key][0]}
    hits = [key for key in new if re.search(bug.at, key)]
    first = None
    if hits:
        ratio, place = new[hits[0]]
        first = f"{hits[0]}: {ratio:.3g} times, {place}"
    return {"line": first, "false": [key for key in new if key not in hits]}


def compared(bug):
    """What is said of it where the run without it is there to be compared with."""
    right = seen_of(bug.network, bug.precision, trace=True)
    other = seen_of(bug.network, bug.precision, bug.plant, trace=True).compare(right)
    call = other.input or (other.first[0] if other.first else None)
    return f"{call['operator']}, {call['place']}" if call else None


def _load(base):
    try:
        with open(os.path.join(HERE, base + ".json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}


def table(results, planted):
    """The table, for people."""
    lines = []
    for listed, title in ((True, "Of kinds that the specification lists"), (False, "Others")):
        if not any(bug.listed == listed for bug in planted):
            continue
        lines += [title, ""]
        for bug in planted:
            if bug.listed == listed and bug.name in results:
                result = results[bug.name]
                where = f"{bug.network}, {bug.precision}, {bug.kind}"
                lines += [f"{'found ' if result['line'] else 'MISSED'}  {bug.words} ({where})"]
                lines += [f"        {result['line']}"] if result["line"] else []
                lines += [f"        beside it: {key}" for key in result["false"]]
                if result.get("compared"):
                    lines.append("        the first difference from a run without it: " +
                                 result["compared"])
        lines.append("")
    found = sum(bool(results[bug.name]["line"]) for bug in planted if bug.name in results)
    lines.append(f"{found} of {len(results)} are found")
    return "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(
        line, 98, subsequent_indent=" " * 8) or [""]) + "\n"


def main(names):
    torch.set_num_threads(1)
    base, planted = ("more", more.BUGS) if "--more" in names else ("planted", bugs.BUGS)
    base = os.path.join(HERE, base)
    names = [name for name in names if name != "--more"]
    results, right = _load(base) if names else {}, {}
    for bug in planted:
        if names and bug.name not in names:
            continue
        pair = bug.network, bug.precision
        if pair not in right:
            right[pair] = lines_of(seen_of(*pair))
        results[bug.name] = tried(bug, right[pair])
        if not results[bug.name]["line"]:
            results[bug.name]["compared"] = compared(bug)
        print(bug.name, results[bug.name], flush=True)
        with open(base + ".json", "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    results = {bug.name: results[bug.name] for bug in planted if bug.name in results}
    with open(base + ".txt", "w", encoding="utf-8") as file:
        file.write(table(results, planted))


if __name__ == "__main__":
    main(sys.argv[1:])
