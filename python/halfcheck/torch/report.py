"""The report: runs halfcheck on torch, collects what it says, writes text, JSON and a page."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import torch

from .. import program
from . import alone, scaler, text
from .findings import counts, findings, place, rows_of
from .optimizers import IMPLEMENTATIONS, ORDERS
from .serve import NORMS, PLAIN, REFUSALS, facts

OPTIMIZERS = ("sgd", "adam", "adamw")


def _python() -> str:
    """This Python as people would type it."""
    found = shutil.which("python3")
    same = found and os.path.realpath(found) == os.path.realpath(sys.executable)
    return "python3" if same and sys.prefix == sys.base_prefix else shlex.quote(sys.executable)


class Runs:
    """The runs of halfcheck that a report is made of, in one folder."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = arguments.out
        self.commands, self.records = [], []
        self.refusals = os.path.join(self.folder, "refusals.jsonl")
        os.makedirs(self.folder, exist_ok=True)
        if os.path.exists(self.refusals):
            os.remove(self.refusals)

    def backend(self, optimizer=None) -> str:
        """What --backend takes for torch."""
        words = [_python(), "-m", "halfcheck.torch", "serve"]
        if optimizer:
            words += ["--optimizer", optimizer]
        if self.arguments.threads:
            words += ["--threads", str(self.arguments.threads)]
        return "pipe:" + " ".join(words)

    def run(self, name, patterns, backend, options=()) -> list:
        """The results of `halfcheck run`; the record becomes NAME.json in the folder."""
        record = os.path.join(self.folder, name + ".json")
        words = [program.path(), "run", *patterns, "--level", self.arguments.level,
                 "--seed", self.arguments.seed, "--json", record, "--backend", backend,
                 *options]
        environment = {**os.environ, REFUSALS: os.path.abspath(self.refusals)}
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                               env=environment)
        if ended.returncode not in (0, 1) or not os.path.exists(record):
            raise program.Error(f"halfcheck run failed: {ended.stderr.strip()[-500:]}")
        self.commands.append(shlex.join(["halfcheck", *words[1:]]))
        self.records.append(record)
        rows = [row for row in rows_of(record) if row["verdict"] != "SKIPPED"]
        tail = [] if self.arguments.seed == "0" else ["--seed", self.arguments.seed]
        for row in rows:
            row["repro"] = shlex.join(["halfcheck", "run", row["case"], "--backend", backend,
                                       *options, *tail])
        return rows

    def refused(self) -> list:
        """[op, format, why, how often] of all runs."""
        total = {}
        if os.path.exists(self.refusals):
            with open(self.refusals, encoding="utf-8") as lines:
                for line in lines:
                    for *key, count in json.loads(line):
                        total[tuple(key)] = total.get(tuple(key), 0) + count
        return [[*key, count] for key, count in sorted(total.items())]


def _known_cases(level: str) -> dict:
    """How many generated cases there are by op and formats."""
    listed = subprocess.run([program.path(), "list", "cases"], stdout=subprocess.PIPE, text=True,
                            check=True, stdin=subprocess.DEVNULL).stdout
    levels = ["quick", "standard", "exhaustive"]
    known = {}
    for line in listed.splitlines():
        name, of_level = line.split("\t")[:2]
        parts = name.split("/")
        if parts[0] == "op" and levels.index(of_level) <= levels.index(level):
            key = (parts[1], parts[2])
            known[key] = known.get(key, 0) + 1
    return known


def _implementations() -> list:
    """Those of torch's optimizers that this version has."""
    p = torch.nn.Parameter(torch.zeros(1))
    there = []
    for name, how in IMPLEMENTATIONS.items():
        try:
            torch.optim.AdamW([p], **how)
            there.append(name)
        except (TypeError, RuntimeError):
            pass
    return there


def _optimizer_runs(runs, ops) -> tuple:
    """Runs of each implementation: the results within bounds, and a table with equal bits."""
    rows, bits = [], []
    for name in _implementations():
        backend = runs.backend(name)
        rows += runs.run(f"optimizers-{name}", [f"op/{op}/*" for op in ops], backend)
        patterns = [f"bits/{op}/*-{ORDERS[name]}" for op in ops if op != "sgd"]
        if patterns:
            bits += runs.run(f"bits-{name}", patterns, backend, ["--order", ORDERS[name]])
    table = []
    counted, equal = counts(rows), counts(bits)
    for (backend, op, formats), (passed, ran) in counted.items():
        same = [(p, r) for (b, o, f), (p, r) in equal.items()
                if b == backend and o == op and f in {f"{formats}-{order}" for order in
                                                      ("torch-loop", "torch-fused")}]
        table.append({
            "backend": backend, "op": op, "formats": formats,
            "bound": f"{passed} of {ran}",
            "bits": "" if not same else "yes" if all(p == r for p, r in same) else "no",
        })
    return rows, bits, table


def _scaler(seeds=(0, 1, 2), interval=20) -> dict:
    """What halfcheck verify says of torch's GradScaler."""
    why = scaler.lacks()
    if why:
        return {"verdict": "SKIPPED", "text": why}
    words = [program.path(), "gen", "scaler/torch", "--interval", str(interval)]
    said = []
    for seed in seeds:
        trace = subprocess.run([*words, "--seed", str(seed)], stdout=subprocess.PIPE, check=True,
                               stdin=subprocess.DEVNULL).stdout
        answers = subprocess.run([sys.executable, "-m", "halfcheck.torch", "scaler", str(interval)],
                                 input=trace, stdout=subprocess.PIPE, check=True).stdout
        ended = subprocess.run([program.path(), "verify", "scaler/torch", "--strict"],
                               input=answers, stdout=subprocess.PIPE, check=False)
        said.append((ended.returncode, ended.stdout.decode("utf-8", "replace").strip()))
    return {"verdict": "PASS" if all(code == 0 for code, _ in said) else "FAIL",
            "text": "\n".join(lines for _, lines in said),
            "command": shlex.join(["halfcheck", *words[1:]]) + f" | {_python()} -m halfcheck.torch "
                       f"scaler {interval} | halfcheck verify scaler/torch"}


def _autocast() -> list:
    """One row for each layer and pass of a network under autocast, judged alone."""
    from .. import judge
    from . import autocast
    from .refusal import FORMATS
    rows = []
    for dtype in autocast.formats():
        for c in autocast.computed(dtype):
            verdict = judge(c.op, inputs=c.inputs, outputs=c.outputs, **c.params)
            ratio = verdict.error / verdict.bound if verdict.bound else None
            rows.append({"autocast": FORMATS[dtype], "layer": c.layer, "op": c.op,
                         "format": c.format, "verdict": verdict.verdict, "ratio": ratio,
                         "ulps": verdict.ulps, "wrong": verdict.wrong, "text": verdict.text})
    return rows


def _machine(record, arguments) -> dict:
    told = facts()
    with open(record, encoding="utf-8") as file:
        environment = json.load(file)["environment"]
    return {"torch": torch.__version__, "halfcheck": environment["halfcheck"],
            "cpu": environment["cpu"], "cores": environment["cores"],
            "threads": arguments.threads or torch.get_num_threads(),
            "capability": told.get("torch cpu", "unknown instructions"),
            "python": told["python"], "level": arguments.level, "seed": arguments.seed}


def _page(runs) -> "str | None":
    """Merges the records and makes the page; None if halfcheck cannot."""
    merged = os.path.join(runs.folder, "record.json")
    words = [program.path(), "merge", *runs.records, "--json", merged]
    for command in (words, [program.path(), "report", merged, "--out", runs.folder]):
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1):
            print(f"halfcheck.torch: no page: {ended.stderr.strip()}", file=sys.stderr)
            return None
    return os.path.join(runs.folder, "report.html")


def confirm(found, folder) -> None:
    """Writes the findings as a script in torch alone, runs it, and says of each what it shows.

    A finding is made by way of this package, whose adapter may be wrong where torch is right.
    """
    with open(alone.__file__, encoding="utf-8") as file:
        words = file.read()
    begin = words.index("FINDINGS = ")
    end = words.index("\n", begin)
    rows = json.dumps([[f.op, f.formats] for f in found])
    path = os.path.join(folder, "findings_alone.py")
    _write(path, words[:begin] + "FINDINGS = " + rows + words[end:])
    ended = subprocess.run([sys.executable, "-W", "ignore", path, "--json"], check=False, text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ended.returncode != 0:
        raise program.Error(f"findings_alone.py failed: {ended.stderr.strip()[-500:]}")
    for finding, said in zip(found, json.loads(ended.stdout)):
        finding.alone = said


def _sections(said, found, counted, known, few) -> list:
    parts = [text.head(said["machine"]), "FOUND\n" + text.found(found)]
    others = [f for f in found if not f.alone]
    if others:
        parts.append("NOT SHOWN IN TORCH ALONE\n" + text.unconfirmed(others))
    parts += ["OP BY OP\n" + text.table(counted, known)]
    if said["optimizers"]:
        parts.append("OPTIMIZERS\n" + text.optimizers(said["optimizers"]))
    if not few:
        parts.append("GRADSCALER\n" + text.plain_lines(said["scaler"]["text"]))
        parts.append("AUTOCAST, LAYER BY LAYER\n" + text.autocast(said["autocast"]))
    if said["refused"]:
        parts.append("WHAT TORCH DOES NOT TAKE\n" + text.refused(said["refused"]))
    return parts


def report(arguments) -> int:
    """Makes the report; the exit status is 1 if anything was found."""
    began = time.monotonic()
    runs = Runs(arguments)
    few = [op for op in arguments.ops.split(",") if op]
    for op in few:
        if op not in (*PLAIN, *NORMS, *OPTIMIZERS, "clip"):
            raise program.Error(f"torch is not asked for {op!r}; the ops are "
                                f"{', '.join((*PLAIN, *NORMS, *OPTIMIZERS, 'clip'))}")
    plain_ops = [op for op in (*PLAIN, *NORMS, "clip") if not few or op in few]
    optimizers = [op for op in OPTIMIZERS if not few or op in few]
    rows = []
    if plain_ops:
        rows = runs.run("ops", [f"op/{op}/*" for op in plain_ops], runs.backend())
    opt_rows, bits, table = _optimizer_runs(runs, optimizers) if optimizers else ([], [], [])
    found = findings(rows + opt_rows + bits)
    confirm(found, runs.folder)
    counted = {key: value for key, value in counts(rows).items()}
    said = {
        "machine": _machine(runs.records[0], arguments),
        "findings": [f.as_json() for f in found],
        "counts": [[*key, *value] for key, value in counts(rows + opt_rows + bits).items()],
        "optimizers": table,
        "scaler": None if few else _scaler(),
        "autocast": [] if few else _autocast(),
        "refused": runs.refused(),
        "commands": runs.commands,
        "seconds": round(time.monotonic() - began, 1),
    }
    words = "\n\n".join(_sections(said, found, counted, _known_cases(arguments.level), few))
    words += f"\n\n{len(rows) + len(opt_rows) + len(bits):,} results in {said['seconds']} s\n"
    page = _page(runs)
    if page:
        words += f"page: {page}\n"
    _write(os.path.join(runs.folder, "report.txt"), words)
    _write(os.path.join(runs.folder, "findings.json"), json.dumps(said, indent=1) + "\n")
    if arguments.json == "-":
        print(json.dumps(said, indent=1))
    elif arguments.json:
        _write(arguments.json, json.dumps(said, indent=1) + "\n")
    print(words, end="", file=sys.stderr if arguments.json == "-" else sys.stdout)
    wrong = found or said["scaler"] and said["scaler"]["verdict"] == "FAIL"
    return 1 if wrong or any(r["verdict"] != "PASS" for r in said["autocast"]) else 0


def _write(path, words):
    with open(path, "w", encoding="utf-8") as file:
        file.write(words)
