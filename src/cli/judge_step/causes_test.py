"""Steps of optimizers with one planted mistake each, under `halfcheck judge-step`: whether it
names that mistake, and nothing else. Run by causes-test; with --write it puts the table that it
finds into docs/step-files.md, and without it compares.

The steps are made here, in numpy, from the formulas in the optimizers' papers. Nothing of
halfcheck's arithmetic is used. A right step is computed in three ways: in fp32 operation by
operation, in fp32 with moments as PyTorch's lerp has them, and in fp64 rounded at the end."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from halfcheck import safetensors

PROGRAM = sys.argv[1]
PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/step-files.md")
MARKS = "<!-- begin causes -->\n", "<!-- end causes -->\n"
FOLDER = tempfile.mkdtemp()
SIZES = {"small": {"a.weight": (6, 5), "a.bias": (6,)},
         "large": {"a.weight": (64, 40), "a.bias": (64,), "b.weight": (32, 64), "b.norm": (64,)}}
MODES = ("fp32", "amp", "bf16")
OPTIMIZERS = ("sgd", "adam", "adamw")
SCALE = 1024.0


def bf16(x):
    """Rounded to bf16, in fp32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
    return bits.astype(np.uint32).view(np.float32).reshape(np.shape(x))


def fp16(x):
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


ROUND = {"F32": np.float32, "F16": fp16, "BF16": bf16}


def pack(kind, x):
    x = np.asarray(x, np.float32)
    if kind == "BF16":
        data = (x.view(np.uint32) >> 16).astype("<u2")
    else:
        data = x.astype("<f2" if kind == "F16" else "<f4")
    return kind, x.shape, data.tobytes()


class Step:
    """A right step; `bugs` are names of mistakes in it."""

    def __init__(self, optimizer, mode, size, seed=0, bugs=(), how="loop", unscaled=True):
        self.optimizer, self.mode, self.size, self.seed = optimizer, mode, size, seed
        self.bugs, self.how, self.unscaled = set(bugs), how, unscaled
        self.stated = {"lr": 3e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.1,
                       "step": 10, "clip": 0.0, "lr_before": 2.9e-3}
        if optimizer == "sgd":
            self.stated.update(lr=0.1, weight_decay=1e-2, lr_before=0.097)
        if self.has("not clipped"):
            self.stated["clip"] = 0.02

    def has(self, *names):
        return any(name in self.bugs for name in names)

    def kinds(self):
        """Formats of weights, of gradients, and of what the optimizer keeps."""
        return {"fp32": ("F32", "F32", "F32"), "amp": ("F16", "F16", "F32"),
                "bf16": ("BF16", "BF16", "BF16")}[self.mode]

    def numbers(self):
        """What the step in fact uses."""
        n = dict(self.stated)
        for name, key, value in (("eps 1e-6", "eps", 1e-6), ("eps 1e-4", "eps", 1e-4),
                                 ("beta1", "beta1", 0.8), ("momentum", "beta1", 0.8),
                                 ("beta2", "beta2", 0.99), ("lr before", "lr", n["lr_before"]),
                                 ("lr x 10", "lr", 10 * n["lr"]), ("master kept", "lr", 0.0)):
            if self.has(name):
                n[key] = value
        if self.has("decay twice"):
            n["twice"] = True
        if self.has("no decay"):
            n["weight_decay"] = 0.0
        return n

    def tensors(self):
        """All tensors of the file."""
        random = np.random.default_rng([self.seed, 7])
        weights, gradients, state = self.kinds()
        out, norm = {}, 0.0
        made = {}
        for name, shape in SIZES[self.size].items():
            w = random.normal(0, 0.1, shape).astype(np.float32)
            size = np.ldexp(1.0, random.integers(-20, -3, shape))
            g = random.normal(0, 1, shape) * size
            m = random.normal(0, 1, shape) * size * 0.3
            v = (random.uniform(0.2, 2, shape) * size**2) * 0.01
            scale = SCALE if self.mode == "amp" else 1.0
            g = ROUND[gradients](g * scale)
            made[name] = (w, g, ROUND[state](m), ROUND[state](v))
            norm += float(np.sum((g.astype(np.float64) / scale)**2))
        factor = 1.0
        if self.stated["clip"]:
            factor = min(1.0, self.stated["clip"] / (norm**0.5 + 1e-6))
        for name, (w, g, m, v) in made.items():
            self.one(out, name, w, g, m, v, factor)
        scalar = pack("F32", np.array([self.stated["step"] - 1]))
        out["optimizer.step"] = scalar
        if self.mode == "amp":
            out["scale"] = pack("F32", np.array([SCALE]))
        return out

    def one(self, out, name, w, g, m, v, factor):
        """The tensors of one parameter."""
        weights, gradients, state = self.kinds()
        master = self.mode == "amp"
        model = ROUND[weights](w)
        w = w if master else model
        scale = np.float32(SCALE if master else 1)
        held = ROUND["F32" if master else gradients]
        factor = np.float32(1 if self.has("not clipped") else factor)
        used = g / scale * factor
        if self.has("not unscaled"):
            used = g * factor
        if self.has("unscaled twice"):
            used = used / scale
        used = held(used)
        shown = used  # what the optimizer got
        if self.has("gradient bf16"):
            used = bf16(used)
        if self.has("gradient fp16"):
            used = fp16(used)
        new = self.sgd if self.optimizer == "sgd" else self.adam
        begin = model if self.has("stale master") else w
        after_w, after_m, after_v = new(begin, used, m, v)
        if self.has("weight twice"):
            after_w = fp16(after_w) if self.mode == "bf16" else bf16(after_w)
        stored = after_w if master else ROUND[weights](after_w)
        copy = ROUND[weights](stored)
        if self.has("copy kept"):
            copy = model
        if self.has("copy twice"):
            copy = ROUND[weights](bf16(stored))
        out["weights." + name] = pack(weights, model)
        out["after.weights." + name] = pack(weights, copy)
        if master:
            out["masters." + name] = pack("F32", w)
            out["after.masters." + name] = pack("F32", stored)
        out["gradients." + name] = pack(gradients, g)
        if self.unscaled:
            out["unscaled." + name] = pack("F32" if master else gradients, shown)
        keys = (("momentum_buffer", m, after_m),) if self.optimizer == "sgd" else \
            (("exp_avg", m, after_m), ("exp_avg_sq", v, after_v))
        for key, before, after in keys:
            out[f"optimizer.{key}.{name}"] = pack(state, before)
            out[f"after.optimizer.{key}.{name}"] = pack(state, ROUND[state](after))

    def real(self):
        """The type that operations are made in."""
        return np.float64 if self.how == "fp64" else np.float32

    def decays(self):
        """Whether decay is in the gradient, and whether it is apart."""
        apart = self.optimizer == "adamw"
        if self.has("decay other"):
            apart = not apart
        return not apart, apart

    def sgd(self, w, g, v, _):
        n, real = self.numbers(), self.real()
        number = lambda x: real(x)
        w, g, v = w.astype(real), g.astype(real), v.astype(real)
        inside, apart = self.decays()
        decay = n["weight_decay"] * (2 if n.get("twice") else 1)
        if apart:
            w = w * number(1 - n["lr"] * decay)
        elif decay:
            g = g + number(decay) * w
        share = 1.0
        if self.has("dampening 0.9"):
            share = 0.1
        if self.has("dampening 0.5"):
            share = 0.5
        v = number(n["beta1"]) * v + number(share) * g
        u = g + number(n["beta1"]) * v if self.has("nesterov") else v
        return (w - number(n["lr"]) * u).astype(np.float32), v.astype(np.float32), None

    def adam(self, w, g, m, v):
        n, real = self.numbers(), self.real()
        number = lambda x: real(x)
        w, g, m, v = (x.astype(real) for x in (w, g, m, v))
        inside, apart = self.decays()
        if apart:
            for _ in range(2 if n.get("twice") else 1):
                w = w * number(1 - n["lr"] * n["weight_decay"])
                if self.has("decay rounded"):
                    w = ROUND[self.kinds()[0]](w).astype(real)
        elif n["weight_decay"]:
            g = g + number(n["weight_decay"] * (2 if n.get("twice") else 1)) * w
        if self.how == "lerp":
            m = m + (g - m) * number(1 - n["beta1"])
        else:
            m = number(n["beta1"]) * m + number(1 - n["beta1"]) * g
        v = number(n["beta2"]) * v + number(1 - n["beta2"]) * g * g
        t = n["step"]
        first, second = 1 - n["beta1"]**t, 1 - n["beta2"]**t
        if self.has("no correction", "no correction m"):
            first = 1.0
        if self.has("no correction", "no correction v"):
            second = 1.0
        if self.has("eps inside"):
            d = np.sqrt(v / number(second) + number(n["eps"]))
        elif self.how == "lerp":
            d = np.sqrt(v) / number(second**0.5) + number(n["eps"])
        else:
            d = np.sqrt(v / number(second)) + number(n["eps"])
        if self.how == "lerp":
            w = w - number(n["lr"] / first) * (m / d)
        else:
            w = w - number(n["lr"]) * (m / number(first)) / d
        return tuple(x.astype(np.float32) for x in (w, m, v))

    def write(self, path):
        n = self.stated
        metadata = {"halfcheck.step": "1", "producer": "numpy", "optimizer": self.optimizer,
                    "decay": "decoupled" if self.optimizer == "adamw" else "l2"}
        for key in ("lr", "beta1", "beta2", "eps", "weight_decay", "clip", "lr_before"):
            if not (self.optimizer == "sgd" and key in ("beta2", "eps")):
                metadata[key] = float(n[key]).hex()
        safetensors.write(path, self.tensors(), metadata)

    def judge(self):
        """The document that judge-step writes."""
        label = "-".join([self.optimizer, self.mode, self.size, str(self.seed), self.how,
                          "+".join(sorted(self.bugs)), str(self.unscaled)]).replace(" ", "_")
        path = os.path.join(FOLDER, label + ".safetensors")
        self.write(path)
        ran = subprocess.run([PROGRAM, "judge-step", path, "--json", path + ".json"], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env={**os.environ, "OMP_NUM_THREADS": "1"})
        if ran.returncode not in (0, 1):
            raise AssertionError(ran.stdout)
        with open(path + ".json", encoding="utf-8") as file:
            return json.load(file)


# Each mistake: what it is, in which optimizers and formats, and how the program is to name it: its
# name and words of its text. "1" to "12" are the usual mistakes of the page.
ADAMS, ALL, AMP = ("adam", "adamw"), OPTIMIZERS, ("amp",)
MISTAKES = {
    "decay twice": (1, ALL, MODES, "weight_decay", "twice"),
    "no decay": (1, ALL, MODES, "weight_decay", "no weight decay"),
    "decay other": (2, ALL, MODES, None, "decay"),
    "no correction": (3, ADAMS, MODES, "no-correction", ""),
    "no correction m": (3, ADAMS, MODES, "no-correction-m", ""),
    "no correction v": (3, ADAMS, MODES, "no-correction-v", ""),
    "eps 1e-6": (4, ADAMS, MODES, "eps", "another"),
    "eps 1e-4": (4, ADAMS, MODES, "eps", "another"),
    "eps inside": (4, ADAMS, MODES, "eps-inside", ""),
    "momentum": (5, ("sgd",), MODES, "momentum", "another"),
    "dampening 0.9": (5, ("sgd",), MODES, "dampening", "1 - momentum"),
    "dampening 0.5": (5, ("sgd",), MODES, "dampening", "another"),
    "nesterov": (5, ("sgd",), MODES, "nesterov", ""),
    "beta1": (6, ADAMS, MODES, "beta1", "another"),
    "beta2": (6, ADAMS, MODES, "beta2", "another"),
    "gradient bf16": (7, ALL, ("fp32", "amp"), "gradient-bf16", ""),
    "gradient fp16": (7, ALL, ("fp32", "bf16"), "gradient-fp16", ""),
    "stale master": (8, ALL, AMP, "stale-master", ""),
    "master kept": (8, ALL, MODES, "lr", "not updated"),
    "copy kept": (8, ALL, AMP, "stale-copy", ""),
    "not unscaled": (9, ALL, AMP, None, "not divided"),
    "unscaled twice": (9, ALL, AMP, None, "twice"),
    "lr before": (10, ALL, MODES, "lr", "step before"),
    "lr x 10": (10, ALL, MODES, "lr", "another"),
    "weight twice": (11, ALL, MODES, None, "rounded twice"),
    "copy twice": (11, ALL, AMP, "copy-bf16", ""),
    "decay rounded": (11, ("adamw",), ("bf16",), "decayed-rounded", ""),
    "not clipped": (12, ALL, MODES, None, "not clipped"),
}
USUAL = ("", "weight decay twice, or none", "weight decay in the gradient, or apart",
         "no bias correction: of m, of v, of both", "another eps, or under the root",
         "another momentum, dampening, Nesterov", "another beta1, another beta2",
         "gradients rounded to bf16, to fp16", "a stale master, a stale copy",
         "loss scale not divided out, or twice", "another learning rate",
         "weights rounded twice", "clipping left out")


NAMED, SEVERAL, NONE, WITHIN, OTHERS, APART, HIDDEN, TOGETHER = range(8)
# Without decoupled decay each of these multiplies the update, or nearly so, and two of them do, too.
FACTORS = {"no correction", "no correction m", "no correction v", "lr before", "lr x 10"}


def causes(document):
    """The causes of every stage that is wrong."""
    return [stage["explain"] for stage in document["causes"]]


def names(mistake, cause):
    name, words = MISTAKES[mistake][3:]
    return (name is None or cause["name"] == name) and words in cause["text"]


def outcome(mistake, document):
    """What is said of a file with one mistake: WITHIN its bounds, NAMED, SEVERAL (the mistake is
    one of them), NONE; or OTHERS: causes, and the mistake is not among them."""
    if document["verdict"] == "right":
        return WITHIN
    found = causes(document)
    if len(found) != 1 or not found[0]:
        return NONE
    if not any(names(mistake, cause) for cause in found[0]):
        return OTHERS
    return NAMED if len(found[0]) == 1 else SEVERAL


def outcome_of_two(both, document):
    """NONE: no single cause; APART: one in each of two stages, which is right; HIDDEN: one of the
    two, and the other alone moves nothing beyond its bound; TOGETHER: both multiply the update, and
    the product is a factor of it; OTHERS: anything else."""
    found = causes(document)
    if len(found) > 1:
        if not all(found):
            return NONE
        right = all(any(names(mistake, cause) for mistake in both for cause in stage)
                    for stage in found)
        return APART if right else OTHERS
    if not found or not found[0]:
        return NONE
    if set(both) <= FACTORS and [cause["name"] for cause in found[0]] == ["lr"]:
        return TOGETHER
    hits = {mistake for mistake in both for cause in found[0] if names(mistake, cause)}
    return HIDDEN if hits and len(found[0]) == 1 else OTHERS


def can_have(mistake, optimizer, mode):
    _, optimizers, modes, _, _ = MISTAKES[mistake]
    return optimizer in optimizers and mode in modes


def wrong_ones():
    """Every file with one mistake."""
    for mistake, optimizer, mode, size in itertools.product(MISTAKES, OPTIMIZERS, MODES, SIZES):
        if can_have(mistake, optimizer, mode):
            yield mistake, Step(optimizer, mode, size, bugs=[mistake])
            if MISTAKES[mistake][0] == 9:  # the same without "unscaled."
                yield mistake, Step(optimizer, mode, size, bugs=[mistake], unscaled=False)


def pairs():
    """Files with two mistakes of different kinds."""
    random = np.random.default_rng(1)
    for optimizer, mode, size in itertools.product(OPTIMIZERS, MODES, SIZES):
        fit = [m for m in MISTAKES if can_have(m, optimizer, mode)]
        both = [(a, b) for a, b in itertools.combinations(fit, 2)
                if (MISTAKES[a][0], MISTAKES[b][0]) != (9, 12)
                and MISTAKES[a][0] != MISTAKES[b][0]]
        drawn = 0
        for k in random.permutation(len(both)):
            step = Step(optimizer, mode, size, seed=3, bugs=both[k])
            alone = [Step(optimizer, mode, size, seed=3, bugs=[bug]) for bug in both[k]]
            # A mistake may undo the other, or hide it: then there is one.
            if drawn < 6 and all(step.tensors() != one.tensors() for one in alone):
                drawn += 1
                yield both[k], step, alone


def right_ones():
    for optimizer, mode, size in itertools.product(OPTIMIZERS, MODES, SIZES):
        for how in ("loop", "lerp", "fp64"):
            for unscaled in (True, False):
                yield Step(optimizer, mode, size, seed=5, how=how, unscaled=unscaled)




def judge_all(rows):
    """(row, document) of each; the step is the row's second part."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(rows)
        return list(zip(rows, pool.map(lambda row: row[1].judge(), rows)))


def table():
    """The two tables of the page, and what must not be."""
    failed, lines = [], []
    counts = {kind: [0] * 5 for kind in range(1, len(USUAL))}
    for (mistake, step), document in judge_all(wrong_ones()):
        found = outcome(mistake, document)
        counts[MISTAKES[mistake][0]][found] += 1
        if found in (NONE, OTHERS):
            failed.append((mistake, step.optimizer, step.mode, step.size, causes(document)))
    lines += ["| mistake | files | named alone | named among several | no cause | "
              "within the bounds |", "|---|---|---|---|---|---|"]
    for kind, row in list(counts.items()) + [(0, [sum(c) for c in zip(*counts.values())])]:
        cells = [USUAL[kind] or "all", sum(row), row[NAMED], row[SEVERAL], row[NONE], row[WITHIN]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    two = [0] * 8
    for (both, step, alone), document in judge_all(pairs()):
        found = outcome_of_two(both, document)
        if found == HIDDEN and not any(one.judge()["verdict"] == "right" for one in alone):
            found = OTHERS
        two[found] += 1
        if found == OTHERS:
            failed.append((both, step.optimizer, step.mode, step.size, causes(document)))
    right = judge_all((None, step) for step in right_ones())
    blamed = [(step.optimizer, step.mode, step.size, step.how) for (_, step), document in right
              if document["verdict"] != "right" or document["causes"]]
    failed += blamed
    lines += ["", "| files | | said of them | |", "|---|---|---|---|",
              f"| two mistakes at once | {sum(two)} | no single cause | {two[NONE]} |",
              f"| | | each one's cause, in its own stage | {two[APART]} |",
              "| | | one of the two, where the other moves nothing beyond its bound | "
              f"{two[HIDDEN]} |",
              "| | | another factor of the update: both are, without decoupled decay | "
              f"{two[TOGETHER]} |",
              f"| right ones | {len(right)} | right, and no cause | {len(right) - len(blamed)} |"]
    return "\n".join(lines) + "\n", failed


def main():
    text, failed = table()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(MARKS[0])
    stands, after = rest.split(MARKS[1])
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + MARKS[0] + text + MARKS[1] + after)
    elif stands != text:
        failed.append("the table of docs/step-files.md is another: causes-test PROGRAM --write")
    print(text)
    for row in failed:
        print("FAIL", row)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
