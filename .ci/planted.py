"""Plants faults in what judges: the Python package, the door to PyTorch, and the gate.

    planted.py python FOLDER HALFCHECK      in copies of python/halfcheck, under its tests, which
                                           run in the virtual environment FOLDER (python/venv)
    planted.py gate BUILD                   in copies of C files, linked into copies of the program

`halfcheck selftest` shows that the cases would catch wrong kernels. This shows the same of the
tests of those who hand verdicts on: each fault is one line that is another, and a test must fail.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What goes wrong, file, right, wrong, the tests that must see it.
PYTHON = [
    ("a result that is MISTRUSTED is ok", "checks.py", 'return self.verdict == "PASS"',
     'return self.verdict not in ("FAIL", "ERROR")', "test_verdicts.py"),
    ("a result that ended with an error is ok", "checks.py", 'return self.verdict == "PASS"',
     'return self.verdict != "FAIL"', "test_verdicts.py"),
    ("a report of nothing is ok", "checks.py", "return bool(self.results) and not self.failed",
     "return not self.failed", "test_verdicts.py"),
    ("one pass makes a report ok", "checks.py", "return bool(self.results) and not self.failed",
     "return any(r.ok for r in self.results)", "test_verdicts.py"),
    ("a check in which nothing ran says nothing", "checks.py", "    if not report.results:\n"
     "        raise Error(job.nothing(report))\n    if report.failed:",
     "    if report.failed:", "test_verdicts.py"),
    ("a check that failed says nothing", "checks.py", "    if report.failed:\n        raise",
     "    if not report.results:\n        raise", "test_verdicts.py"),
    ("a report of nothing by a definition is ok", "definitions.py",
     "return any(row[3].ok for row in self.rows) and not self.failed", "return not self.failed",
     "test_verdicts.py"),
    ("one pass makes a report by a definition ok", "definitions.py",
     "return any(row[3].ok for row in self.rows) and not self.failed",
     "return any(row[3].ok for row in self.rows)", "test_verdicts.py"),
    ("a verdict by a definition that is MISTRUSTED is ok", "definitions.py",
     'self.ok = self.verdict == "PASS"', 'self.ok = self.verdict != "FAIL"', "test_verdicts.py"),
    ("a verdict by a definition is always true", "definitions.py", "        return self.ok\n",
     "        return True\n", "test_verdicts.py"),
    ("what ended with an error by a definition is no failure", "definitions.py",
     'if row[3].verdict not in ("PASS", "MISTRUSTED")]', 'if row[3].verdict == "FAIL"]',
     "test_verdicts.py"),
    ("a check by a definition that failed says nothing", "definitions.py",
     "        if report.failed:\n            raise Wrong(_first_wrong(report), report)\n", "",
     "test_verdicts.py"),
    ("a check by a definition in which nothing ran says nothing", "definitions.py",
     "        if not report.ok:\n            raise Error(",
     "        if False:\n            raise Error(",
     "test_verdicts.py"),
    ("a watch finds nothing wrong", "seen.py", 'row["wrong"] += output["wrong"] > 0',
     'row["wrong"] += 0', "test_watch.py -k 'a_wrong_operator_is_named and tanh'"),
    ("a watch of nothing is ok", "seen.py", "return self.elements > 0 and not self.wrong()",
     "return not self.wrong()", "test_watch.py -k what_is_not_judged"),
    ("what an operator writes over is taken as it is afterwards", "torch/slices.py",
     'return tensor.detach().to("cpu", copy=True)', 'return tensor.detach().to("cpu")',
     "test_watch.py -k a_right_training"),
    ("what halfcheck refuses counts as judged", "judging.py",
     "self.seen.asked -= not line.whole", "pass",
     "test_watch.py -k refused_is_not_judged"),
    ("bits that are moved may change", "torch/slices.py",
     "want.view(torch.uint8) != got.view(torch.uint8)", "want.view(torch.uint8) < 0",
     "test_watch.py -k 'passes_and_is_found_wrong and cat'"),
    ("what was wrong is kept without its options", "judging.py",
     'words += ["--set", f"{option}={value!r}"]', "pass",
     "test_watch.py -k has_its_options"),
    ("a rounding moves no loss", "torch/budget.py",
     "product = kept.pop().double() * gradient", "product = 0 * kept.pop().double() * gradient",
     "test_watch_views.py -k 'error_times_the_gradient'"),
    ("a cast that flushes costs nothing", "torch/windows.py",
     "(wide_ != 0) & (narrow == 0)", "(wide_ != 0) & (narrow != narrow)",
     "test_watch_views.py -k a_cast_flushes"),
    ("what comes through has the rounded inputs", "torch/through.py",
     "return found.of(tensor).clone()", "return wide.plain(tensor)",
     "test_watch_views.py -k come_together"),
    ("shadows do not follow what is written into views", "torch/through.py",
     "found.of(tensor).copy_(want.reshape(tensor.shape))", "pass",
     "test_watch_views.py -k follows_views"),
    ("all runs are the same", "torch/traces.py",
     "found.update(host.view(torch.uint8).numpy().tobytes() if host.numel() else b\"\")", "pass",
     "test_watch_views.py -k makes_a_difference"),
    ("a mask may show the next token", "torch/texts.py", "if reach >= shift and (", "if False and (",
     "test_watch_texts.py -k what_is_to_be_predicted"),
    ("gradients need not be cleared", "torch/gradients.py",
     "                self.added[id(tensor)] = seen\n", "",
     "test_watch_texts.py -k nothing_has_cleared"),
    ("large calls are not asked for", "checks.py",
     'large = any(case.startswith(f"size/{op}/") for case in case_names())', "large = False",
     "test_check.py"),
    ("a verdict that is MISTRUSTED is ok", "verdicts.py", 'self.ok = self.verdict == "PASS"',
     'self.ok = self.verdict != "FAIL"', "test_verdicts.py"),
    ("a verdict is always true", "verdicts.py", "        return self.ok\n", "        return True\n",
     "test_verdicts.py"),
    ("labels beyond 32 bits wrap", "verdicts.py", "if array.size and not least", "if False and not "
     "least", "test_verdicts.py"),
    ("labels far below 32 bits wrap", "verdicts.py", "not least <= int(array.min()) <= int",
     "not int", "test_verdicts.py"),
    ("parameters are not handed on", "verdicts.py",
     'words += ["--set", f"{name}={_text(value)}"]', "pass", "test_judge.py"),
    ("the worst output is any", "verdicts.py", 'max(said["outputs"], key=_ratio, default={})',
     'min(said["outputs"], key=_ratio, default={})', "test_verdicts.py"),
    ("a test without a result passes", "pytest_plugin.py", "        if not mine.ok:\n"
     "            raise job.wrong(mine)\n", "", "test_pytest_plugin.py"),
    ("what ended with an error is no finding", "torch/findings.py", 'BAD = ("FAIL", "ERROR")',
     'BAD = ("FAIL",)', "test_torch.py -k findings"),
    ("a failure is no finding", "torch/findings.py", 'BAD = ("FAIL", "ERROR")', 'BAD = ("ERROR",)',
     "test_torch.py -k findings"),
    ("torch's growth interval is ignored", "torch/scaler.py", "growth_interval=interval",
     "growth_interval=2000", "test_torch.py -k interval"),
    ("casts ignore saturate", "torch/ops.py", 'call.params["saturate"] != saturates(format)',
     "False", "test_torch.py -k saturate"),
    ("what torch alone does not show is printed as torch's", "torch/text.py",
     "list_of_findings = [f for f in list_of_findings if f.alone]", "pass",
     "test_torch.py -k alone"),
    ("every finding counts as shown", "torch/report.py", "        finding.alone = said\n",
     '        finding.alone = said or "shown"\n', "test_torch.py -k alone"),
    ("torch alone rounds ties away", "torch/alone.py", "near = round(size / step) * step",
     "near = math.floor(size / step + Fraction(1, 2)) * step", "test_torch.py -k alone"),
]

GATE = [
    ("MPFR's elements are not compared", "gate_rows.c", "    find_less_looked_at(c, was, is);\n",
     "    (void)find_less_looked_at;\n", "gate_test"),
    ("smaller calls are as good", "gate_rows.c", "    find_smaller(c, was, is);\n",
     "    (void)find_smaller;\n", "gate_test"),
    ("a failure may spread", "gate_rows.c", "    find_more_wrong(c, was, is);\n",
     "    (void)find_more_wrong;\n", "gate_test"),
    ("a failure need not say how far it spreads", "gate_rows.c",
     "is->wrong == 0 && hc_row_verdict(is) == HC_FAIL", "false", "gate_test"),
    ("fewer comparisons are as good", "gate_rows.c", "    if (is->checked < was->checked)\n"
     "        find_fewer(c, was, is);\n    if (size_of", "    if (size_of", "gate_test"),
    ("a raised bound is as good", "gate_rows.c",
     "if (size_of(is->bound) > size_of(was->bound)) {", "if (false) {", "gate_test"),
    ("a failure's error may grow", "gate_rows.c",
     "return size_of(is->error) > size_of(was->error);", "return false;", "gate_test"),
    ("a grown error is measured by the new bound", "gate_rows.c",
     "return hc_ratio(is->error, was->bound) >", "return hc_ratio(is->error, is->bound) >",
     "gate_test"),
    ("other units are compared", "gate_rows.c", "bool same_unit = strcmp(is->unit, was->unit) "
     "== 0;", "bool same_unit = true;", "gate_records_test"),
    ("other seeds are compared", "gate_rows.c", "if (was->seed != is->seed) {", "if (false) {",
     "gate_records_test"),
    ("digests beside skipped results are evidence", "gate_rows.c",
     'return hc_row_is_bits(row) && json_is_true(json_object_get(run, "bits_only"));',
     "return hc_row_is_bits(row) && run;", "gate_bits_test"),
    ("other bits are as good", "gate_rows.c", "if (bits == HC_BITS_OTHER)",
     "if (bits == HC_BITS_OTHER && false)", "gate_bits_test"),
    ("a digest that is gone is as good", "gate_rows.c",
     "bits == HC_BITS_UNKNOWN && was->digest_bits > 0", "false", "gate_bits_test"),
    ("a record may lack a member of its environment", "gate.c",
     '    find_lacking(gate, part, was, is, "record");\n', "", "gate_records_test"),
    ("a baseline may lack a member of its environment", "gate.c",
     '    find_lacking(gate, part, is, was, "baseline");\n', "", "gate_records_test"),
    ("a record may lack what a backend says of itself", "gate.c",
     '    find_silent(gate, gate->baseline, gate->record, "record");\n', "",
     "gate_records_test"),
    ("a baseline may lack what a backend says of itself", "gate.c",
     '    find_silent(gate, gate->record, gate->baseline, "baseline");\n', "",
     "gate_records_test"),
    ("a missing result is as good", "gate_rows.c", "            find_missing(c, was);",
     "            (void)find_missing;", "gate_test"),
    ("a new failure is as good", "gate_rows.c", "            find_new(c, is);",
     "            (void)find_new;", "gate_test"),
    ("SKIPPED is judged", "gate_rows.c", "c->judged += bits || !is_silent(after);",
     "c->judged++;", "gate_test"),
    ("a pass that is none is one", "gate_rows.c",
     "    enum hc_verdict after = hc_row_verdict(is);\n    char",
     "    enum hc_verdict after = is->verdict;\n    char", "gate_test"),
]


def planted(path, right, wrong):
    """The file's text with the fault. The right line must stand there once, or the fault is old."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(right) != 1:
        sys.exit(f"planted.py: {path} has {text.count(right)} times: {right}")
    return text.replace(right, wrong)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def in_python(venv, program):
    """Yields each fault and whether a test fails."""
    made = subprocess.run([os.path.join(HERE, "python", "venv"), venv], check=False)
    if made.returncode:
        sys.exit(made.returncode)
    python = os.path.join(os.path.abspath(venv), "bin", "python")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "python")
        shutil.copytree(os.path.join(HERE, "python"), copy,
                        ignore=shutil.ignore_patterns("__pycache__", "examples"))
        # It says the package's version.
        shutil.copy2(os.path.join(HERE, "CMakeLists.txt"), folder)
        tests = os.path.join(copy, "tests")
        torch = subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False)

        def passes(words):
            environment = {**os.environ, "HALFCHECK_PROGRAM": os.path.abspath(program),
                           "PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": "1",
                           "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            return subprocess.run([python, "-m", "pytest", "-qx", "-p", "no:cacheprovider",
                                   *shlex.split(words)], cwd=tests, env=environment, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0

        rows = [row for row in PYTHON if torch.returncode == 0 or "torch" not in row[1]]
        for words in dict.fromkeys(row[4] for row in rows):
            if not passes(words):
                sys.exit(f"planted.py: without a fault {words} fails")
        for title, name, right, wrong, words in rows:
            path = os.path.join(copy, "halfcheck", name)
            write(path, planted(path, right, wrong))
            caught = not passes(words)
            shutil.copy2(os.path.join(HERE, "python", "halfcheck", name), path)
            yield title, caught


def commands(build, target):
    """The command lines that make it."""
    return subprocess.run(["ninja", "-C", build, "-t", "commands", target], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def in_gate(build):
    """Yields each fault and whether a test fails: an object with the fault stands before the
    library, which then does not give its own."""
    build = os.path.abspath(build)
    if not os.path.exists(os.path.join(build, "build.ninja")):
        print("SKIPPED: only ninja says how the program is built")
        sys.exit(77)
    all_commands = commands(build, "halfcheck")
    link = next(line for line in reversed(all_commands) if " -o halfcheck " in line)
    for title, name, right, wrong, test in GATE:
        source = os.path.join(HERE, "src/cli/gate", name)
        compiled = next(line for line in all_commands if line.endswith(source))
        with tempfile.TemporaryDirectory() as folder:
            copy, made, program = (os.path.join(folder, x) for x in (name, "fault.o", "halfcheck"))
            write(copy, planted(source, right, wrong))
            line = re.sub(r" -MD| -M[TF] \S+| -Werror", "", compiled) + " -w"
            line = re.sub(r" -o \S+\.o ", f" -o {made} ", line).replace(source, copy)
            subprocess.run(line, shell=True, cwd=build, check=True)
            subprocess.run(link.replace(" -o halfcheck ", f" -o {program} {made} ", 1), shell=True,
                           cwd=build, check=True)
            transcript = test.removesuffix("_test").removeprefix("gate_") + ".txt"
            ended = subprocess.run([sys.executable, "-B", os.path.join(HERE, "tests/run.py"), program,
                                    os.path.join(HERE, "tests/gate", transcript)], cwd=folder,
                                   check=False,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            yield title, ended.returncode != 0


def main():
    """Status 1 if a fault survives."""
    what, *words = sys.argv[1:]
    survivors, count = 0, 0
    for title, caught in (in_python if what == "python" else in_gate)(*words):
        count += 1
        survivors += not caught
        if not caught:
            print(f"SURVIVES  {title}", flush=True)
    print(f"{count - survivors} of {count} faults planted in the {what} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
