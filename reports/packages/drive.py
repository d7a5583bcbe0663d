"""Puts a package's scale rule between `halfcheck gen scale/RULE` and `halfcheck verify scale/RULE`.

A line of gen is an index and numbers in fp32's bits: an amax, the elements of a block, or a
tensor's amax and the elements of a block. A package's script answers with the scales, and of blocks
with the elements' codes, and `judge` prints what verify says of them.
"""
import ast
import subprocess
import sys

import numpy as np


def functions(path, names, given):
    """The functions and constants of these names alone, of a file whose imports are not there:
    methods come as functions, without their decorators."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    wanted = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            wanted.append(node)
    exec(compile(ast.Module(wanted, []), path, "exec"), given)  # noqa: S102
    return [given[name] for name in names]


def bits(values):
    """fp32's bits, as answers are written."""
    return [f"{one:08x}" for one in np.asarray(values, np.float32).reshape(-1).view(np.uint32)]


def blocks(scales, codes, digits=2):
    """Answers for blocks: the scale's code, and the elements'."""
    rows = np.asarray(codes).reshape(len(scales), -1)
    return [f"{int(scale):02x} " + "".join(f"{int(code):0{digits}x}" for code in row)
            for scale, row in zip(scales, rows)]


def judge(package, rows):
    """Judges each (rule, options of gen, function of an array with a line's numbers a row)."""
    halfcheck = sys.argv[1]
    print(f"# {package}")
    np.seterr(all="ignore")
    for rule, options, answer in rows:
        given = subprocess.run([halfcheck, "gen", f"scale/{rule}", *options], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        heads = [line for line in given if line.startswith("#")]
        lines = [line for line in given if not line.startswith("#")]
        words = np.array([[int(word, 16) for word in line.split()[1:]] for line in lines],
                         np.uint32)
        answers = answer(words.view(np.float32))
        text = "\n".join(heads + [f"{line} {one}" for line, one in zip(lines, answers)]) + "\n"
        judged = subprocess.run([halfcheck, "verify", f"scale/{rule}"], input=text, check=False,
                                capture_output=True, text=True)
        print(f"# scale/{rule}", *options)
        print((judged.stdout + judged.stderr).strip(), flush=True)
