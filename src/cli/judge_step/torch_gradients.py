"""The gradients of Darknet-16 in fp64, halfcheck's against PyTorch's. Run by torch-test.

halfcheck takes a step in fp64 and writes it down; PyTorch takes the same step from the same weights,
statistics and batch. How far may they differ? Each is off by its own rounding errors, which are to
first order proportional to the unit roundoff u of the format: the same program in fp32 is off by
u32 / u64 = 2^29 times as much. So each takes the step in fp32, too, and the tolerance is

    4 (|halfcheck32 - halfcheck64| + |torch32 - torch64|) 2^-29

in the 2-norm of each gradient, relative to its own. The 4 is for chance: both formats' errors are
sums of very many roundings, drawn anew, and their norms over a tensor of at least 10 elements are
equally large but for chance. A leaky ReLU whose input has another sign in fp32 only adds to the
tolerance. So do the parameters 1e-5 and 0.1, which halfcheck takes as fp32 numbers: PyTorch gets
the same ones here."""

import os
import subprocess
import sys
import tempfile

import torch
from torch import nn

from halfcheck import safetensors
from halfcheck.torch.darknet import darknet

PROGRAM = sys.argv[1]
FOLDER = tempfile.mkdtemp()
TYPES = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}


def halfcheck_step(recipe):
    """All tensors of the first step of a training."""
    out = os.path.join(FOLDER, recipe)
    ran = subprocess.run([PROGRAM, "train", "--recipe", recipe, "--batch", "8", "--images", "4",
                          "--epochs", "1", "--dump", "0", "--out", out], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    path = os.path.join(out, "step-0.safetensors")
    assert ran.returncode != 2 and os.path.exists(path), ran.stdout
    tensors, _ = safetensors.read(path)
    return {name: torch.frombuffer(bytearray(data), dtype=TYPES[kind]).reshape(shape)
            for name, (kind, shape, data) in tensors.items()}


def part(step, prefix):
    return {name[len(prefix):]: tensor for name, tensor in step.items() if name.startswith(prefix)}


def torch_step(step, kind, change=lambda model: None):
    """The gradients of PyTorch's step from halfcheck's weights and batch."""
    model = darknet("darknet16").to(kind)
    state = {**part(step, "weights."), **part(step, "buffers.")}
    state = {name: tensor for name, tensor in state.items() if "num_batches" not in name}
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys, missing
    assert all("num_batches_tracked" in name for name in missing.missing_keys), missing
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eps = torch.tensor(1e-5).double().item()
        if isinstance(module, nn.LeakyReLU):
            module.negative_slope = torch.tensor(0.1).double().item()
    change(model)
    loss = nn.functional.cross_entropy(model(step["batch.images"].to(kind)),
                                       step["batch.labels"].long())
    loss.backward()
    return {name: p.grad.double() for name, p in model.named_parameters()}


def halfcheck_results(step):
    return {name: tensor.double() for name, tensor in part(step, "gradients.").items()}


def apart(a, b):
    """|a - b| / |b| of each tensor."""
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    return {name: ((a[name] - b[name]).norm() / b[name].norm()).item() for name in a}


def padding(model):
    conv = model[3][0]
    conv.padding_mode, conv._reversed_padding_repeated_twice = "replicate", [1, 1, 1, 1]


def slope(model):
    model[3][2].negative_slope = 0.1  # fp64's 0.1, which is 1.5e-9 from fp32's


def eps(model):
    model[3][1].eps = 1e-5  # likewise, 2.5e-8


own64, own32 = halfcheck_step("fp64"), halfcheck_step("fp32")
want = torch_step(own64, torch.float64)
single = [apart(halfcheck_results(own32), halfcheck_results(own64)),
          apart(torch_step(own64, torch.float32), want)]
tolerance = {name: 4 * (single[0][name] + single[1][name]) * 2**-29 for name in want}


def worst(results):
    """The largest difference, relative; and the largest part of the tolerance, and where."""
    off = apart(halfcheck_results(own64), results)
    name = max(off, key=lambda n: off[n] / tolerance[n])
    return max(off.values()), off[name] / tolerance[name], name


largest, share, where = worst(want)
print(f"{len(want)} tensors agree to {largest:.2g}; at most {share:.2g} of the tolerance, {where}: "
      f"{tolerance[where]:.2g}")
failed = not share <= 1
for fault in (padding, slope, eps):
    largest, share, where = worst(torch_step(own64, torch.float64, fault))
    print(f"planted {fault.__name__}: {largest:.2g} apart, {share:.2g} of the tolerance, {where}")
    failed |= not share > 1
sys.exit(failed)
