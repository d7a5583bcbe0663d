"""The report as text of 80 columns, what was found first."""

import shlex
import textwrap

WIDTH = 80
COLUMNS = ("fp32", "fp16", "bf16", "fp64")


def plain(text: str) -> str:
    """The text without what a terminal would take for a command."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def wrapped(text: str, indent: int = 0, hanging: int = 0) -> str:
    """Words on lines of 80 columns."""
    return textwrap.fill(plain(text), WIDTH, initial_indent=" " * indent,
                         subsequent_indent=" " * (indent + hanging),
                         break_long_words=False, break_on_hyphens=False)


def command(text: str, indent: int = 4) -> str:
    """A shell command over several lines, each but the last with a backslash at its end."""
    try:
        words = [shlex.quote(word) for word in shlex.split(plain(text))]
    except ValueError:
        words = plain(text).split()
    lines, line = [], " " * indent
    for word in words:
        if len(line) + len(word) > WIDTH - 3 and line.strip():
            lines.append(line.rstrip() + " \\")
            line = " " * (indent + 2)
        line += word + " "
    return "\n".join([*lines, line.rstrip()])


def head(facts: dict) -> str:
    """Which torch on which machine."""
    lines = [f"PyTorch {facts['torch']} on {facts['cpu']}, {facts['cores']} cores"]
    lines += [f"halfcheck {facts['halfcheck']}, seed {facts['seed']}, level {facts['level']}; "
              f"torch: {facts['threads']} threads, {facts['capability']}"]
    return "\n".join(wrapped(line, 0, 2) for line in lines)


def found(list_of_findings: list) -> str:
    """The findings that torch alone shows, numbered. Of those on special values one line will do."""
    list_of_findings = [f for f in list_of_findings if f.alone]
    if not list_of_findings:
        return "Nothing is wrong that torch alone shows."
    lines = []
    for number, f in enumerate(list_of_findings, 1):
        if f.specials:
            break
        lines.append(wrapped(
            f"{number:2}. {f.op} {f.formats} ({f.backend}): {f.failed} of {f.cases} cases, "
            f"{f.wrong:,} of {f.checked:,} comparisons; worst: {f.worst()}", 0, 4))
        lines.append(wrapped(f.note, 4, 2))
        lines.append(wrapped(f"torch alone: {f.alone}", 4, 2))
        lines.append(command(f.repro))
    special = [f for f in list_of_findings if f.specials]
    if special:
        lines.append("Wrong on infinities, NaNs and subnormal numbers alone:")
    for f in special:
        lines.append(wrapped(f"{f.op} {f.formats} ({f.backend}), {f.failed} of {f.cases} cases: "
                             f"{f.note}", 4, 2))
    return "\n".join(lines)


def unconfirmed(list_of_findings: list) -> str:
    """What the runs found and torch alone does not show."""
    lines = [wrapped("These results are not as claimed, and findings_alone.py does not show why. The "
                     "adapter may be at fault, a convention, or an order that is not torch's.")]
    for f in list_of_findings:
        lines.append(wrapped(f"{f.op} {f.formats} ({f.backend}), {f.failed} of {f.cases} cases: "
                             f"{f.note}", 2, 2))
    return "\n".join(lines)


def table(counted: dict, known: dict) -> str:
    """Per op and format how many cases pass; `known`: how many cases there are by op and formats.

    Mixed formats (fp16-fp32 and so on) share a column.
    """
    ops, cells = [], {}
    for (_, op, formats), (passed, ran) in counted.items():
        if op not in ops:
            ops.append(op)
        column = formats.split("-state")[0]
        column = column if column in COLUMNS else "others"
        before = cells.get((op, column), (0, 0))
        cells[op, column] = (before[0] + passed, before[1] + ran)
    lines = [f"{'op':20}" + "".join(f"{c:>12}" for c in (*COLUMNS, "others"))]
    for op in ops:
        line = f"{op:20}"
        for column in (*COLUMNS, "others"):
            passed, ran = cells.get((op, column), (0, 0))
            if not ran:
                there = any(o == op and (f.split("-state")[0] == column) for o, f in known)
                cell = "no" if there else ""
            else:
                cell = "right" if passed == ran else f"{ran - passed} of {ran}"
            line += f"{cell:>12}"
        lines.append(line)
    lines.append("right: all cases; 3 of 14: so many are wrong; no: torch does not take it")
    return "\n".join(lines)


def optimizers(rows: list) -> str:
    """One line for each implementation, op and format: within the bound, and the stated order."""
    lines = [f"{'implementation':14}{'op':7}{'formats':22}{'within the bound':>17}"
             f"{'bits of its order':>19}"]
    for row in rows:
        lines.append(f"{row['backend'][-14:]:14}{row['op']:7}{row['formats']:22}"
                     f"{row['bound']:>17}{row['bits']:>19}")
    return "\n".join(lines)


def autocast(rows: list) -> str:
    """One line for each layer and pass."""
    if not rows:
        return "This torch's autocast takes no 16-bit format on the CPU."
    lines = [f"{'autocast':10}{'layer':16}{'op':19}{'computes in':13}{'verdict':9}{'error/bound':>12}"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
        lines.append(f"{row['autocast']:10}{row['layer']:16}{row['op']:19}{row['format']:13}"
                     f"{row['verdict']:9}{ratio:>12}")
    return "\n".join(lines)


def refused(rows: list) -> str:
    """Why torch said no, and to which ops."""
    by_reason = {}
    for op, format, why, count in rows:
        by_reason.setdefault(why, {}).setdefault(op, set()).add(format)
    lines = []
    for why, ops in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        where = ", ".join(f"{op} ({' '.join(sorted(f))})" for op, f in sorted(ops.items()))
        lines.append(wrapped(f"{why}: {where}", 2, 2))
    return "\n".join(lines)


def plain_lines(lines: str) -> str:
    """Lines of a program, each without what a terminal would take for a command."""
    return "\n".join(wrapped(line, 0, 5) for line in lines.splitlines())
