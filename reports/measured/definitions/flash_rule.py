#!/usr/bin/env python3
"""FlashAttention's rule beside halfcheck's verdict: flash_rule.py HALFCHECK [KERNEL...]

The tests of FlashAttention ask that a kernel's largest error is at most twice that of a plain
implementation in 16 bits: max|got - real| <= 2 max|plain - real| + 1e-5. Here the plain one computes
the definition's equations one by one in fp32, and stores each result in the tensors' format, as a
framework's operators do. Both judge the same call: the kernels of power/, as they are and with each
fault planted, on normal numbers in bf16, with the first lengths that halfcheck.check takes."""

import os
import re
import sys
import tempfile
import warnings

import judging  # noqa: F401  finds the packages below

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "power"))

import definitions_oracle  # noqa: E402
import definitions_orders  # noqa: E402
import numpy as np  # noqa: E402
import power  # noqa: E402
import test_definitions as values  # noqa: E402
from power import kernels  # noqa: E402

CALL = ("bf16", "normal", 0, 0)


def stored(text):
    """The text with each equation's numbers stored, but for what is counted or stored already."""
    computed = r"^(?!axis|op|return|scan|#|\w+\[-1)(\w+ *(?:\[[^\]]*\])? *= *)"
    return re.sub(computed + r"(?!store|shift|argmax)(?=\S)", r"\1store ", text, flags=re.M)


class Rule:
    """What the plain implementation's error allows for each result of one call."""

    def __init__(self, subject, folder):
        text = definitions_oracle.equations(subject.text)
        inputs = subject.inputs(*CALL)
        file = os.path.join(folder, "real.op")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        given = {name: a if a.dtype == np.int32 else a.astype(np.float32)
                 for name, a in inputs.items()}
        told = values.program_values(file, given, values.pathlib.Path(folder))
        self.real = {name: np.reshape([float(w) for w in row["want"]], row["shape"])
                     for name, row in told.items()}
        plain = definitions_orders.implementation(definitions_oracle.Definition(stored(text)), given,
                                                  "forwards", "bf16")
        self.limit = {name: 2 * error(plain[name], real) + 1e-5
                      for name, real in self.real.items()}

    def accuses(self, outputs):
        return any(not error(outputs[name], real) <= self.limit[name]
                   for name, real in self.real.items() if name in outputs)


def error(got, real):
    """The largest error; NaN and infinities count where the real number is none."""
    off = np.abs(np.asarray(got, np.float64) - real)
    return float(np.max(off[np.isfinite(real)], initial=0))


def main():
    os.environ["HALFCHECK_PROGRAM"] = os.path.abspath(sys.argv[1])
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    rows = [row for row in power.faults() if not row[0].endswith("__backward") and
            (not sys.argv[2:] or row[0] in sys.argv[2:])]
    counts = dict.fromkeys(("both", "halfcheck alone", "the rule alone", "neither"), 0)
    accused, right, kernel = [], 0, None
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        for name, what, edits, _ in rows:
            if name != kernel:
                kernel, subject = name, power.Subject(name, folder)
                try:
                    rule = Rule(subject, folder)
                except (ValueError, KeyError, TypeError, AssertionError, IndexError) as why:
                    rule = None
                    print(f"{name}: no plain implementation: {why}", flush=True)
                if rule:
                    right += 1
                    if rule.accuses(subject.asked(getattr(kernels, name))(subject.inputs(*CALL))):
                        accused.append(name)
            if not rule:
                continue
            function = power.planted(name, edits)
            ours = subject.judged(function, CALL).verdict == "FAIL"
            theirs = rule.accuses(subject.asked(function)(subject.inputs(*CALL)))
            found = ("both" if ours and theirs else "halfcheck alone" if ours else
                     "the rule alone" if theirs else "neither")
            counts[found] += 1
            if found in ("halfcheck alone", "the rule alone"):
                print(f"{name}: {what}: {found}", flush=True)
    print("caught on this call by " + ", ".join(f"{key}: {n}" for key, n in counts.items()))
    print(f"of {right} right kernels the rule accuses {', '.join(accused) or 'none'}")


if __name__ == "__main__":
    main()
