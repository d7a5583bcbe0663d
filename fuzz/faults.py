#!/usr/bin/env python3
"""Lets each request of a command to the system fail, one at a time, and looks at what comes of it.

usage: faults.py PROGRAM LIBRARY [--kinds K,...] [--commands C,...] [--stride N | --most N]
                 [--later] [--from N]

LIBRARY is fuzz/inject, which fails the Nth request of a kind. N walks from 1, by the stride, until
no request is left to fail. Each time the command must either end with status 2 and one line on
standard error, or, where it can do without what failed, end as it does otherwise: same status,
same output, same files. No file may be torn, none left over. With --later, all requests behind the
Nth fail, too. Ends with status 1 if any of this does not hold, and prints a table.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = ["memory", "write", "read", "map"]
# Nothing fails, but alarms interrupt system calls, or each moves one byte: all must be as without.
HARMLESS = {"alarm": "alarm:300", "short": "short:0"}
LIMIT_S = 60
# A child of the program: its own failures are not looked at.
QUIET_PATH = "/nonexistent"
SCALES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "scale" / "scales.py"
TINY = ["--network", "darknet-tiny", "--classes", "airplane,dog", "--images", "4", "--epochs", "1",
        "--batch", "4", "--threads", "1"]


class Command:
    """One command, what it reads, and the files that it makes."""

    def __init__(self, words, stdin="", lines=False, page=False):
        self.words = words
        self.stdin = stdin
        self.lines = lines  # .csv grow line by line: a stopped run leaves whole lines
        self.page = page  # the page says what it lacks and why, and so differs


RUN = ["run", "eps/1e-8-is-zero-in-half", "op/sum/fp16/257/normal", "--backend", "exact,host",
       "--level", "quick", "--jobs", "1"]
COMMANDS = {
    "run": Command([*RUN, "--json", "r.json", "--junit", "j.xml"]),
    "jobs": Command([*RUN[:-1], "2", "--json", "r.json"]),
    "tap": Command([*RUN, "--tap"]),
    "gate": Command(["gate", "--baseline", "in/a.json", "in/a.json"]),
    "worse": Command(["gate", "--baseline", "in/a.json", "in/b.json"]),
    "merge": Command(["merge", "in/a.json", "in/c.json", "--json", "m.json"]),
    "report": Command(["report", "in/a.json", "--out", "page"], page=True),
    "train": Command(["train", "--recipe", "fastai-004b", *TINY, "--backend", "exact",
                      "--out", "t"], lines=True),
    "host": Command(["train", "--recipe", "fastai-004b", *TINY, "--out", "t"], lines=True),
    "dump": Command(["train", "--recipe", "fp32", *TINY, "--backend", "exact", "--out", "t",
                     "--dump", "0"], lines=True),
    "calc": Command(["calc", "x = 1 / 3", "--each", "x = x * x + 2^-14", "--steps", "40",
                     "--json", "c.json"]),
    "list": Command(["list", "formats"]),
    "recipes": Command(["list", "recipes", "--json"]),
    "explain": Command(["explain", "eps/1e-8-is-zero-in-half"]),
    "find": Command(["find", "nan", "adam"]),
    "bounds": Command(["bounds", "in/d.json"]),
    "judge": Command(["judge", "add", "--in", "in/x.npy", "--in", "in/x.npy", "--out", "in/y.npy",
                      "--json", "judged.json"]),
    "keep": Command(["judge", "add", "--in", "in/x.npy", "--in", "in/x.npy", "--out", "in/w.npy",
                     "--keep", "kept.safetensors"]),
    "gen": Command(["gen", "scaler/torch", "--steps", "200", "--interval", "20"]),
    "verify": Command(["verify", "scaler/torch"], stdin="in/trace"),
    "vectors": Command(["vectors", "--format", "e4m3", "--kind", "specials"]),
    "inputs": Command(["gen", "cast/e5m2", "--kind", "ties"]),
    "cast": Command(["verify", "cast/e2m1"], stdin="in/codes"),
    "miscast": Command(["verify", "cast/e2m1"], stdin="in/wrong-codes"),
    "amaxes": Command(["gen", "scale/te-delayed"]),
    "blocks": Command(["gen", "scale/nvfp4-te"]),
    "scale": Command(["verify", "scale/te-delayed"], stdin="in/scales"),
    "misscale": Command(["verify", "scale/te-delayed"], stdin="in/wrong-scales"),
    "version": Command(["--version"]),
}


def aligned(text, size=4096):
    """The lines, with comments so that none crosses a multiple of `size`: where a read fails, what
    came before it ends with a whole line, and only the failure tells that more was to come."""
    made = ""
    for line in text.splitlines():
        room = size - len(made) % size
        if room < len(line) + 1 or room == len(line) + 2:
            made += "#" * (room - 1) + "\n"
        made += line + "\n"
    return made


def npy(path, values):
    """Writes numbers as numpy does."""
    import struct

    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                     struct.pack("<%df" % len(values), *values))


class Walk:
    """All that one command does under one kind of failure."""

    def __init__(self, program, library, folder):
        self.program = program
        self.library = library
        self.folder = folder
        self.inputs = folder / "in"
        self.log = folder / "log"

    def environment(self, inject=None):
        """What every command sees."""
        keep = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "PATH": QUIET_PATH,
                "LC_ALL": "C", "COLUMNS": "80", "TMPDIR": str(self.folder)}
        keep.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        if inject:
            keep["LD_PRELOAD"] = str(self.library)
            keep["HC_INJECT"] = inject
            keep["HC_INJECT_LOG"] = str(self.log)
        return keep

    def run(self, command, inject=None):
        """Runs the command in a new folder; returns the folder, status, output and complaint."""
        here = self.folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        os.symlink(self.inputs, here / "in")
        self.log.unlink(missing_ok=True)
        stdin = open(here / command.stdin) if command.stdin else subprocess.DEVNULL
        try:
            ran = subprocess.run([self.program, *command.words], cwd=here, stdin=stdin,
                                 env=self.environment(inject), capture_output=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return here, "hangs", "", ""
        finally:
            if command.stdin:
                stdin.close()
        return here, ran.returncode, ran.stdout.decode(), ran.stderr.decode(errors="replace")

    def prepare_pipes(self):
        """Makes the answers of programs to `gen`, right ones and wrong ones."""
        _, _, codes, _ = self.run(Command(["vectors", "--format", "e2m1", "--from", "bf16"]))
        wrong = re.sub(" 07$", " 06", codes, flags=re.MULTILINE)
        (self.inputs / "codes").write_text(aligned(codes))
        (self.inputs / "wrong-codes").write_text(aligned(wrong))
        _, _, amaxes, _ = self.run(COMMANDS["amaxes"])
        for name, mistake in [("scales", []), ("wrong-scales", ["uses-this-step"])]:
            answers = subprocess.run([sys.executable, SCALES, "te-delayed", *mistake], input=amaxes,
                                     capture_output=True, text=True, check=True).stdout
            (self.inputs / name).write_text(aligned(answers))

    def prepare(self):
        """Makes what the commands read."""
        self.inputs.mkdir()
        npy(self.inputs / "x.npy", [0.1 * i for i in range(64)])
        npy(self.inputs / "y.npy", [float.fromhex("0x1.99999ap-4") * 0 if i == 0 else 0
                                    for i in range(64)])
        npy(self.inputs / "w.npy", [1.0] * 64)
        for name, seed, case in [("a", "0", "eps/*"), ("b", "1", "eps/*"), ("c", "0", "decay/*"),
                                 ("d", "0", "op/sum/*")]:
            made = Command(["run", case, "--backend", "exact", "--level", "quick", "--seed", seed,
                            "--json", "r.json"])
            here, status, _, complaint = self.run(made)
            if status not in (0, 1):
                sys.exit(f"faults: cannot make {name}.json: {complaint}")
            shutil.copy(here / "r.json", self.inputs / f"{name}.json")
        here, _, trace, _ = self.run(COMMANDS["gen"])
        lines = [f"{line} 65536.0" if line[0] != "#" else line for line in trace.splitlines()]
        (self.inputs / "trace").write_text(aligned("\n".join(lines)))
        self.prepare_pipes()


# Times; and the processor's name, which is null where /proc/cpuinfo cannot be read.
VARIES = re.compile(r'"(?:cpu|seconds|images_per_second|date|resident|memory)": *[^,\n]+|'
                    r'time="[0-9.]+"|'
                    r"\d+(?:\.\d+)? (?:images/s|s|MiB)\b|\d{4}-\d\d-\d\dT[0-9:]+Z|"
                    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?")


def plain(text):
    """The text without times."""
    return VARIES.sub("~", text)


def files_of(here):
    """What lies in the folder, by path: texts without times, other bytes as they are."""
    found = {}
    for path in sorted(here.rglob("*")):
        name = str(path.relative_to(here))
        if path.is_dir() or name.split("/")[0] == "in":
            continue
        data = path.read_bytes()
        try:
            found[name] = "" if name.endswith(".lock") else plain(data.decode())
        except UnicodeDecodeError:
            found[name] = data
    return found


def same_lines(want, got):
    """Whether the texts agree where times cannot make them differ (columns of seconds)."""
    if want == got:
        return True
    if isinstance(want, bytes) or isinstance(got, bytes):
        return False
    cut = [[re.sub(r"\d+(\.\d*)?(e[-+]\d+)?", "#", line) for line in text.split("\n")]
           for text in (want, got)]
    return cut[0] == cut[1]


def is_told(text):
    """Whether the file says that a case ended with an error, and is whole."""
    return ('"verdict": "ERROR"' in text and text.endswith("}\n")) or (
        "<error type" in text and text.endswith("</testsuites>\n"))


def first_difference(want, got):
    """The first pair of lines that differ."""
    if isinstance(want, bytes) or isinstance(got, bytes):
        return f"{len(want)} and {len(got)} bytes"
    rows = zip((want + "\n(end)").split("\n"), (got + "\n(end)").split("\n"))
    return next((f"{a[:80]!r} and {b[:80]!r}" for a, b in rows if not same_lines(a, b)), "?")


def begins(want, got):
    """Whether `got` is the first whole lines of `want`, but for times."""
    lines = got.count("\n")
    return same_lines("\n".join(want.split("\n")[:lines]) + "\n" * (lines > 0), got)


def judge(command, clean, here, status, output, complaint):
    """What is wrong with this end of the command, or None; and whether it was stopped."""
    files = files_of(here)
    stopped = status == 2
    if status == "hangs" or (isinstance(status, int) and status < 0):
        return f"status {status}: {complaint[-200:]}", stopped
    for line in clean["complaint"].splitlines(keepends=True):
        complaint = complaint.replace(line, "", 1)
    if stopped:
        if complaint.count("\n") != 1 or not complaint.startswith("halfcheck: ") or len(
                complaint) < 20:
            return f"no single line: {complaint[-300:]!r}", stopped
    elif status != clean["status"]:
        return f"status {status}: {complaint[-200:]!r}", stopped
    for name, got in files.items():
        want = clean["files"].get(name)
        if want is None:
            return f"left over: {name}", stopped
        if stopped and command.lines and name.endswith(".csv") and begins(want, got):
            continue
        if stopped and "ended with an error" in complaint and is_told(got):
            continue
        if command.page and got.endswith("</html>\n"):
            continue
        if not same_lines(want, got):
            return f"torn: {name}: {first_difference(want, got)}; {complaint!r}", stopped
    if stopped:
        return None, True
    missing = set(clean["files"]) - set(files)
    if missing:
        return f"missing: {', '.join(sorted(missing))}", False
    if not same_lines(clean["output"], plain(output)):
        difference = first_difference(clean["output"], plain(output))
        return f"ends with status {status} and other output, {difference}", False
    return None, False


def walk(w, name, kind, options):
    """Lets the command's requests fail; returns counts and what was wrong."""
    command = COMMANDS[name]
    here, status, output, complaint = w.run(command)
    if status not in (0, 1):
        sys.exit(f"faults: {name} without a fault: status {status}, {complaint}")
    clean = {"status": status, "output": plain(output), "files": files_of(here),
             "complaint": complaint}
    wrong = []
    counts = {"stopped": 0, "same": 0}
    if kind in HARMLESS:
        what, stopped = judge(command, clean, *w.run(command, HARMLESS[kind]))
        what = "it is stopped" if stopped else what
        return 1, {"stopped": stopped, "same": not stopped}, [f"{name} {kind}: {what}"] * bool(what)
    n = options.first
    stride = options.stride
    if options.most:
        _, status, _, complaint = w.run(command, f"{kind}:1000000000")
        counted = w.log.read_text().split()
        if len(counted) != 2:
            sys.exit(f"faults: {name} {kind} is not counted: status {status}, {complaint}")
        stride = max(1, int(counted[1]) // options.most)
    while True:
        end = w.run(command, f"{kind}:{n}{'+' * options.later}")
        if not w.log.exists() or w.log.read_text()[:5] in ("", "unmet"):
            break
        what, stopped = judge(command, clean, *end)
        counts["stopped" if stopped else "same"] += 1
        if what:
            wrong.append(f"{name} {kind}:{n} ({w.log.read_text().split()[0]}): {what}")
        n += stride
    return n, counts, wrong


def main():
    """Walks through all commands and kinds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--most", type=int, help="about so many N of each, instead of a stride")
    parser.add_argument("--later", action="store_true")
    options = parser.parse_args()
    bad = 0
    print("command   kind     tried  stopped  as without  wrong  seconds")
    with tempfile.TemporaryDirectory(prefix="halfcheck-faults-") as folder:
        w = Walk(os.path.abspath(options.program), os.path.abspath(options.library),
                 pathlib.Path(folder))
        w.prepare()
        for name in options.commands.split(","):
            for kind in options.kinds.split(","):
                began = time.monotonic()
                _, counts, wrong = walk(w, name, kind, options)
                tried = counts["stopped"] + counts["same"]
                print(f"{name:<10}{kind:<7}{tried:7}{counts['stopped']:9}{counts['same']:12}"
                      f"{len(wrong):7}{time.monotonic() - began:9.1f}", flush=True)
                for line in wrong:
                    print(f"  {line}")
                bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
