"""Steps of `halfcheck train --backend exact`, against docs/step-files/numpy_step.py. Run by
numpy-test.

Three steps of each recipe are dumped. numpy gets the first weights, the batches and the rates, and
has to arrive at every other tensor in the three files: at its bits, or for the loss and its
gradient by the logits at an interval that holds it. Its state goes on from step to step, and is
never read. The first step under amp overflows: the scale halves, and nothing else moves but counts
and running statistics. After the third, the scale grows. Delayed scaling remembers two amaxes, so
that the third step forgets the first's. It comes in fp32, too, where no rounding into bf16 hides
how sums of codes are added. The batch of 6 makes divisions by the number of elements inexact.

The test must be able to fail. So defects are planted in the text of numpy_step.py, the program is
told to do something else, and one bit of each tensor in the files is turned over. Each has to be
told, and where."""

import os
import subprocess
import sys
import tempfile
import types

import numpy as np

from halfcheck import safetensors

PROGRAM = sys.argv[1]
SOURCE = os.path.join(os.path.dirname(__file__), "../../../docs/step-files/numpy_step.py")
STEPS = 3
SCALE, INTERVAL, HISTORY = 2.0**18, 2, 2
# Recipes, each with the model's format, here and in a step file.
FP32, AMP = "fp32", f"amp+loss_scale={SCALE:.0f}+interval={INTERVAL}"
FP8 = f"fp8-te-delayed+amax_history={HISTORY}"
FP8_IN_FP32 = f"fp32+quant=te-delayed+amax_history={HISTORY}"
FORMATS = {FP32: ("fp32", "F32"), AMP: ("fp16", "F16"), FP8: ("bf16", "BF16"),
           FP8_IN_FP32: ("fp32", "F32")}
ULP = {"F32": 1, "F16": 2**13, "BF16": 2**16}  # in those of fp32
INPUTS = {"batch.images", "batch.labels"}


class Disagreement(Exception):
    pass


def decode(kind, shape, data):
    """A tensor of a step file as fp32 or i32, channels last."""
    if kind == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        array = np.frombuffer(data, {"F32": "<f4", "F16": "<f2", "I32": "<i4"}[kind])
        array = array.astype(np.float32) if kind == "F16" else array
    array = array.reshape(shape)
    return array.transpose(0, 2, 3, 1) if len(shape) == 4 else array


def train(recipe, folder):
    """The files of the steps: (tensors, metadata) of each."""
    out = os.path.join(folder, recipe)
    command = [PROGRAM, "train", "--recipe", recipe, "--network", "darknet-tiny", "--images", "2",
               "--batch", "6", "--epochs", "1", "--backend", "exact", "--dump",
               ",".join(map(str, range(STEPS))), "--out", out]
    ran = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    assert ran.returncode != 2, ran.stdout
    return [safetensors.read(os.path.join(out, f"step-{step}.safetensors"))
            for step in range(STEPS)]


class File:
    """A step file as witness of what numpy makes: `see` and `choose` raise where they differ."""

    def __init__(self, step, tensors, model):
        self.step, self.tensors, self.model = step, tensors, model
        self.seen, self.elements, self.room = {}, 0, {}

    def got(self, name):
        if name not in self.tensors:
            raise Disagreement(f"step {self.step}: the file lacks {name}")
        kind, shape, data = self.tensors[name]
        if name.startswith("activation") and kind != self.model:
            raise Disagreement(f"step {self.step}: {name} is {kind}")
        return decode(kind, shape, data)

    def see(self, name, want):
        """The same bits, but for those of NaNs."""
        got = self.got(name)
        want = np.asarray(want, got.dtype)
        self.seen[name] = want, want
        same = (got.shape == want.shape) and (want.tobytes() == got.tobytes() or np.all(
            (np.isnan(want) & np.isnan(got)) | (want.view(np.int32) == got.view(np.int32))))
        if not same:
            raise Disagreement(f"step {self.step}: {name}")
        self.elements += want.size

    def choose(self, name, low, high):
        got = self.got(name)
        self.seen[name] = low, high
        if got.shape != low.shape or not ((low <= got) & (got <= high)).all():
            raise Disagreement(f"step {self.step}: {name}")
        ulp = np.spacing(np.abs(got)) * ULP[self.tensors[name][0]]
        self.room[name] = ((high - low) / ulp).max()
        return got

    def check_all_seen(self):
        rest = set(self.tensors) - set(self.seen) - INPUTS
        if rest:
            raise Disagreement(f"step {self.step}: nothing here makes {sorted(rest)[0]}")


def retrace(module, recipe, files):
    """Takes the steps that the files are of, in numpy; returns the files as witnesses."""
    rounded = getattr(module, FORMATS[recipe][0])
    masters = recipe in (AMP, FP8)
    first, prefix = files[0][0], "masters." if masters else "weights."
    weights = {name[len(prefix):]: decode(*t) for name, t in first.items()
               if name.startswith(prefix)}
    state = module.first_state(weights, masters, rounded, SCALE if recipe == AMP else 1,
                               HISTORY if recipe in (FP8, FP8_IN_FP32) else 0)
    witnesses = []
    for number, (tensors, texts) in enumerate(files):
        witness = File(number, tensors, FORMATS[recipe][1])
        numbers = {key: float.fromhex(texts[key]) for key in
                   ("lr", "beta1", "beta2", "eps", "weight_decay")}
        rates = {"lr": float(np.float32(numbers["lr"])), "decay": numbers["weight_decay"],
                 "beta1": float(np.float32(numbers["beta1"])), "beta2": numbers["beta2"],
                 "eps": numbers["eps"]}
        scaler = {"growth": 2, "backoff": 0.5, "interval": INTERVAL} if recipe == AMP else None
        with np.errstate(all="ignore"):
            module.Step(state, rounded, witness.see, witness.choose).run(
                decode(*tensors["batch.images"]), decode(*tensors["batch.labels"]), rates, scaler)
        witness.check_all_seen()
        witnesses.append(witness)
    return witnesses


def load(*edits):
    """numpy_step.py as a module, with pieces of its text replaced."""
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times in {SOURCE}: {old}"
        text = text.replace(old, new)
    module = types.ModuleType("numpy_step")
    exec(compile(text, SOURCE, "exec"), module.__dict__)
    return module


# Defects: what, under which recipe, where it is told first (or how the name of that begins, where
# it is chance in which layer a rounding shows it first), and how it is planted.
DEFECTS = [
    ("eps inside the root", FP32, "step 0: after.weights.0.0.weight",
     ("(np.sqrt(v) / correction + fp32(eps))", "np.sqrt(v / correction**2 + fp32(eps))")),
    ("decay behind the step", FP32, "step 0: after.weights.0.0.weight",
     ("    w = w * fp32(1 - lr * decay)\n", ""),
     ("return w - step * (m / (np.sqrt(v) / correction + fp32(eps))), m, v",
      "w = w - step * (m / (np.sqrt(v) / correction + fp32(eps)))\n"
      "    return w * fp32(1 - lr * decay), m, v")),
    ("first bias correction a step late", FP32, "step 0: after.weights.0.0.weight",
     ("lr / (1 - beta_power(beta1, t))", "lr / (1 - beta_power(beta1, t + 1))")),
    ("second bias correction a step late", FP32, "step 0: after.weights.0.0.weight",
     ("1 - beta_power(beta2, t)", "1 - beta_power(beta2, t + 1)")),
    ("1 - beta2 rounded before it is used", FP32, "step 0: after.weights.0.0.weight",
     ("fp32(1 - beta2)", "(F32(1) - fp32(beta2))")),
    ("t counts skipped steps", AMP, "step 1: after.weights.0.0.weight",
     ('int(self.state["optimizer.step"]) + 1', 'int(self.state["counts.steps"]) + 1')),
    ("gamma's gradient without an element", FP32, "step 0: activation_gradients.6.inner.1.0",
     ("(dz * xhat).reshape(-1, channels), 0)", "(dz * xhat).reshape(-1, channels)[1:], 0)")),
    ("beta's gradient pairwise", FP32, "step 0: activation_gradients.6.inner.1.0",
     ("in_order(dz.reshape(-1, channels), 0)",
      "np.array([c.sum(dtype=F32) for c in dz.reshape(-1, channels).T.copy()])")),
    ("filters' gradient in the order of rows", FP32, "step 0: gradients.0.0.weight",
     ("dy * columns[:, None], F32(0)), 0)", "dy * columns[:, None], F32(0))[::-1], 0)")),
    ("a biased running variance", FP32, "step 0: after.buffers.0.1.running_var",
     ("squares / (count - F32(1))", "squares / count")),
    ("a running variance rounded twice more", FP32, "step 0: after.buffers.",
     ("squares / (count - F32(1))", "squares / count * count / (count - F32(1))")),
    ("eps behind the root in batch norm", FP32, "step 0: saved.0.1.invstd",
     ("np.sqrt(squares / count + EPS)", "(np.sqrt(squares / count) + EPS)")),
    ("leaky ReLU before the rounding", AMP, "step 0: activations.0",
     ("z = self.rounded((y - mean) * invstd * gamma + beta)",
      "z = (y - mean) * invstd * gamma + beta"),
     ("np.where(z > 0, z, self.rounded(SLOPE * z))",
      "self.rounded(np.where(z > 0, z, SLOPE * z))")),
    ("a skip that passes nothing back", FP32, "step 0: activation_gradients.5",
     ("dy = self.rounded(skip + dy)", "dy = dy + F32(0)")),
    ("a sum over the batch", FP32, "step 0: activation_gradients.logits",
     ("factor = F64(scale) / len(p)", "factor = F64(scale)")),
    ("a loss without the label", FP32, "step 0: loss",
     ("at = d[np.arange(len(d)), labels][:, None]", "at = d[:, :1]")),
    ("gradients not divided by the scale", AMP, "step 0: unscaled.0.0.weight",
     ("self.gradient[name] * reciprocal", "self.gradient[name]")),
    ("a step in spite of an overflow", AMP, "step 0: after.weights.0.0.weight",
     ("        if not found:\n", "        if True:\n")),
    ("no statistics of a skipped step", AMP, "step 0: after.buffers.0.1.running_mean",
     ("        found = self.unscale(scaler)\n",
      "        found = self.unscale(scaler)\n        self.state.update(before if found else {})\n"),
     ("        logits = self.forward(images)\n",
      "        before = dict(self.state)\n        logits = self.forward(images)\n")),
    ("an overflow that leaves the scale", AMP, "step 0: after.scale",
     ('scale * fp32(scaler["backoff"])', "scale")),
    ("growth a step late", AMP, "step 2: after.scaler.growth_tracker",
     ('== scaler["interval"]', '> scaler["interval"]')),
    ("a model with its old copy", AMP, "step 1: after.weights.0.0.weight",
     ("else self.rounded(new[0])", 'else self.state["weights." + name]')),
    ("masters that are the model's copy", AMP, "step 1: after.weights.0.0.weight",
     ("w, m, v = (self.state[key] for key in keys)",
      "w, m, v = (self.state[key] for key in keys)\n"
      "            w = w if is_norm(name) else self.rounded(w)")),
    ("scales from this step's amax", FP8, "step 0: activations.1.0",
     ('self.state[f"quant.{group}.scale"][place]\n', "F32(448) / np.abs(x).max()\n")),
    ("a window of one step", FP8, "step 1: after.quant.",
     ("np.concatenate([last[None], history[1:]]))", "last[None])")),
    ("a window that never forgets", FP8, "step 1: after.quant.",
     ("np.concatenate([history[1:], last[None]])", "np.concatenate([history[1:], most[None]])")),
    ("weights quantised from their copy", FP8, "step 0: activations.1.0",
     ('self.state.get(f"masters.{module}.0.weight", model)', "model")),
    ("gradients in e4m3", FP8, "step 0: activation_gradients.6.inner.0",
     ("reshape(-1, len(w)), e5m2)", "reshape(-1, len(w)), e4m3)")),
    ("codes that do not saturate", FP8, "step 1: activations.",
     ("nearest(x, 4, -6, 448, saturate=True)", "nearest(x, 4, -6, 448)")),
    ("a sum that is never promoted", FP8_IN_FP32, "step 1: gradients.",
     ("product(a.T, b.T, scale_a, scale_b, promote=128)", "product(a.T, b.T, scale_a, scale_b)")),
    ("pieces added with two roundings", FP8_IN_FP32, "step 1: gradients.",
     ("fma(in_order(terms, 1) * decode_a, decode_b, total)",
      "in_order(terms, 1) * decode_a * decode_b + total")),
]


# What the program does instead under other fields of its recipe, and where that is told first.
ELSE = [
    ("eps_inside=true", FP32, "step 0: after.weights.0.0.weight"),
    ("order=torch-fused", FP32, "step 0: after.weights.0.0.weight"),
    ("decay=l2", FP32, "step 0: after.weights.0.0.weight"),
    ("decay_norm=false", FP32, "step 0: after.weights.0.1.weight"),
    ("sum_loss=true", FP32, "step 0: loss"),
    ("clip=0.001", FP32, "step 0: unscaled.0.0.weight"),
    ("statistics=fp16", AMP, "step 0: after.buffers.0.1.running_mean"),
    ("backoff=0.25", AMP, "step 0: after.scale"),
]

# Inputs of which one bit is turned over, and what is told then.
READ = [("weights.3.0.weight", "step 0: activations.3.0"),
        ("batch.images", "step 0: activations.0.0"),
        ("batch.labels", "step 0: loss")]


def turn_bit(tensors, name, bit=0):
    """The file with a bit of the middle element of a tensor turned over."""
    kind, shape, data = tensors[name]
    changed, size = bytearray(data), safetensors.BYTES[kind]
    changed[len(data) // size // 2 * size + bit // 8] ^= 1 << bit % 8
    return {**tensors, name: (kind, shape, bytes(changed))}


def untold_bits(witness):
    """The tensors in which the lowest bit can be turned over, or one beyond the interval, and no
    comparison tells."""
    untold = []
    for name, (low, high) in witness.seen.items():
        bit = int(np.ceil(np.log2(1 + witness.room.get(name, 0))))
        other = File(witness.step, turn_bit(witness.tensors, name, bit), witness.model)
        try:
            if name in witness.room:
                other.choose(name, low, high)
            else:
                other.see(name, low)
            untold.append(name)
        except Disagreement:
            pass
    return untold


def told(module, recipe, files):
    """Where numpy and the files differ first; '' if they agree."""
    try:
        retrace(module, recipe, files)
    except Disagreement as difference:
        return str(difference)
    return ""


def other_first(steps, tensors):
    """The files, the first of them with these tensors."""
    return [(tensors, steps[0][1]), *steps[1:]]


def main():
    failures = 0
    module = load()
    with tempfile.TemporaryDirectory() as folder:
        files = {recipe: train(recipe, folder) for recipe in FORMATS}
        other = {fields: train(f"{recipe}+{fields}", folder) for fields, recipe, _ in ELSE}

    def report(fine, line):
        nonlocal failures
        failures += not fine
        print(("" if fine else "WRONG: ") + line)

    def expect(what, where, got):
        fine = got == where or (where.endswith(".") and got.startswith(where))
        report(fine, f"{what}: {got or 'not told'}" + ("" if fine else f"; expected {where}"))

    for recipe, steps in files.items():
        try:
            witnesses = retrace(module, recipe, steps)
        except Disagreement as difference:
            report(False, f"{recipe}: {difference}")
            continue
        room = {name: max(w.room[name] for w in witnesses) for name in witnesses[0].room}
        print(f"{recipe}: {sum(len(w.seen) for w in witnesses)} tensors agree, "
              f"{sum(w.elements for w in witnesses)} elements to the bit; widest intervals: "
              + ", ".join(f"{name} {wide:.3g} ulp" for name, wide in room.items()))
        skipped = [int(w.got("after.counts.skipped")) for w in witnesses]
        report(skipped == ([1, 1, 1] if recipe == AMP else [0, 0, 0]), f"skipped: {skipped}")
        untold = untold_bits(witnesses[1])
        report(not untold, f"a bit turned over in each of {len(witnesses[1].seen)} tensors: "
               + ("not told in " + ", ".join(untold) if untold else "all told"))
    if failures:
        return True  # what is planted would be told where the two differ anyway
    for what, recipe, where, *edits in DEFECTS:
        expect(what, where, told(load(*edits), recipe, files[recipe]))
    for fields, recipe, where in ELSE:
        expect(f"{recipe}+{fields}", where, told(module, recipe, other[fields]))
    first = files[FP32][0][0]
    for name, where in READ:
        expect(f"a bit of {name}", where,
               told(module, FP32, other_first(files[FP32], turn_bit(first, name))))
    lacking = {name: t for name, t in first.items() if name != "logits"}
    expect("no logits", "step 0: the file lacks logits",
           told(module, FP32, other_first(files[FP32], lacking)))
    expect("one tensor more", "step 0: nothing here makes more",
           told(module, FP32, other_first(files[FP32], {**first, "more": first["logits"]})))
    return failures > 0


sys.exit(main())
