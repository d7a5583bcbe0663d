"""Steps of PyTorch under `halfcheck judge-step`. Right ones must be right; of each wrong one it must
say where it went wrong first, and what was done instead. Run by torch-test."""

import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn

from halfcheck import safetensors
from halfcheck.torch.darknet import darknet
from halfcheck.torch.dump import dump_step

PROGRAM = sys.argv[1]
FOLDER = tempfile.mkdtemp()
PATH = os.path.join(FOLDER, "step.safetensors")


class Scaler:
    """A loss scale, as GradScaler has it, without a GPU."""

    def __init__(self, scale):
        self.value = scale

    def get_scale(self):
        return self.value

    def get_growth_factor(self):
        return 2.0

    def get_backoff_factor(self):
        return 0.5

    def get_growth_interval(self):
        return 2000

    def _get_growth_tracker(self):
        return 7

    def unscale(self, parameters):
        for p in parameters:
            p.grad.mul_(1 / self.value)


class Step:
    """A training step of darknet-tiny, of which a test may change one thing."""

    optimizer = staticmethod(lambda parameters: torch.optim.AdamW(
        parameters, lr=3e-3, betas=(0.9, 0.99), weight_decay=1e-2))
    type, half, scale, clip = torch.float32, None, None, 0.0
    metadata = {}

    def prepare(self, model):
        """Before the step."""

    def gradients(self, model, scaler):
        """Between backward and the optimizer."""
        if scaler:
            scaler.unscale(model.parameters())
        if self.clip:
            nn.utils.clip_grad_norm_(model.parameters(), self.clip)

    def edit(self, tensors):
        """The file, before it is judged."""

    def run(self):
        torch.manual_seed(1)
        model = darknet("darknet-tiny").to(self.type)
        optimizer = self.optimizer(model.parameters())
        images = torch.randn(4, 3, 32, 32, dtype=self.type)
        labels = torch.randint(10, (4,))
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()  # so that there are moments, and running statistics
        optimizer.zero_grad()
        torch.optim.lr_scheduler.ConstantLR(optimizer, 1)  # wraps optimizer.step
        scaler = Scaler(self.scale) if self.scale else None
        self.prepare(model)
        with dump_step(PATH, model, optimizer, network="darknet-tiny", scaler=scaler,
                       clip=self.clip, **self.metadata) as dump:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half is not None):
                loss = nn.functional.cross_entropy(model(images), labels)
            dump.loss(loss, labels)
            (loss * (self.scale or 1)).backward()
            self.gradients(model, scaler)
            optimizer.step()
        tensors, metadata = safetensors.read(PATH)
        self.edit(tensors)
        safetensors.write(PATH, tensors, metadata)


def verdict(step):
    """The status, and the claims that are wrong, the first of them with the causes that are named,
    if there are any, in its note."""
    step.run()
    out = PATH + ".json"
    status = subprocess.run([PROGRAM, "judge-step", PATH, "--json", out], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if status.returncode == 2:
        raise AssertionError(status.stdout)
    with open(out, encoding="utf-8") as file:
        document = json.load(file)
    claims = document["claims"]
    assert len(claims) >= 168 and not [c for c in claims if c["verdict"] == "not judged"], status.stdout
    wrong = [c for c in claims if c["verdict"] == "WRONG"]
    for stage in document["causes"]:
        if len(stage["explain"]) == 1:
            wrong[0]["note"] += stage["explain"][0]["text"]
    return status.returncode, wrong


FAILED = []


def check(name, held, found=None):
    print(f"{'ok  ' if held else 'FAIL'} {name}", flush=True)
    if not held:
        FAILED.append(name)
        print("    ", found)


def right(name, step, known=()):
    status, wrong = verdict(step)
    others = [c for c in wrong if (c["where"], c["note"]) not in known]
    check("right: " + name, not others and status == bool(wrong), others[:2])


def wrong(name, step, stage, where, what, note=""):
    status, claims = verdict(step)
    first = claims[0] if claims else {"stage": "", "where": "", "what": "", "note": ""}
    check("wrong: " + name, status == 1 and (first["stage"], first["where"], first["what"])
          == (stage, where, what) and note in first["note"], first)


def tensor(tensors, name):
    kind, shape, data = tensors[name]
    types = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16}
    return torch.frombuffer(bytearray(data), dtype=types[kind]).reshape(shape)


def put(tensors, name, values):
    kind, shape, _ = tensors[name]
    assert values.dtype in (torch.float32, torch.bfloat16)
    tensors[name] = kind, shape, values.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


class Single(Step):
    pass


class Double(Step):
    type = torch.float64


class Autocast(Step):
    half = torch.bfloat16


class Scaled(Step):
    scale, clip = 1024.0, 0.5


class Momentum(Step):
    optimizer = staticmethod(lambda parameters: torch.optim.SGD(
        parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3))


class CoupledAdam(Step):
    optimizer = staticmethod(lambda parameters: torch.optim.Adam(parameters, weight_decay=1e-2))


class NotUnscaled(Scaled):
    clip = 0.0

    def gradients(self, model, scaler):
        pass


class ClippedFirst(Scaled):
    def gradients(self, model, scaler):
        nn.utils.clip_grad_norm_(model.parameters(), self.clip)
        scaler.unscale(model.parameters())


class NotClipped(Scaled):
    def gradients(self, model, scaler):
        scaler.unscale(model.parameters())


class EpsInside(Step):
    """w is computed once more from the moments, with eps under the root."""

    def edit(self, tensors):
        for name in [n[len("weights."):] for n in tensors if n.startswith("weights.")]:
            w, m, v = (tensor(tensors, f"{prefix}{name}").double() for prefix in (
                "weights.", "after.optimizer.exp_avg.", "after.optimizer.exp_avg_sq."))
            t = tensor(tensors, "after.optimizer.step").item()
            w = w * (1 - 3e-3 * 1e-2)
            w -= 3e-3 / (1 - 0.9 ** t) * m / (v / (1 - 0.99 ** t) + 1e-8).sqrt()
            put(tensors, "after.weights." + name, w.float())


class DecayCoupled(CoupledAdam):
    metadata = {"decay": "decoupled"}


class GradientTwice(Step):
    def prepare(self, model):
        model[4].inner[1][0].weight.register_hook(lambda g: 2 * g)


class BiasedVariance(Step):
    def edit(self, tensors):
        for name in [n for n in tensors if n.startswith("buffers.") and n.endswith("running_var")]:
            x = tensor(tensors, "activations." + name[len("buffers."):-len("1.running_var")] + "0")
            biased = x.double().var((0, 2, 3), unbiased=False)
            put(tensors, "after." + name, (0.9 * tensor(tensors, name) + 0.1 * biased).float())


class OneInHalf(Step):
    def prepare(self, model):
        model[3][0].register_forward_hook(lambda m, i, o: o.bfloat16().float())


class OneOnHalf(Step):
    """A convolution whose inputs are rounded to bf16, and whose result is not."""

    def prepare(self, model):
        conv = model[3][0]
        conv.forward = lambda x: conv._conv_forward(x.bfloat16().float(),
                                                    conv.weight.bfloat16().float(), None)


class Padding(Step):
    def prepare(self, model):
        model[1][0].padding_mode, model[1][0].padding = "replicate", (1, 1)
        model[1][0]._reversed_padding_repeated_twice = [1, 1, 1, 1]


class NormMomentum(Step):
    def prepare(self, model):
        model[3][1].momentum = 0.01


class NormEps(Step):
    def prepare(self, model):
        model[3][1].eps = 1e-3


class StepCount(Step):
    def edit(self, tensors):
        put(tensors, "optimizer.step", tensor(tensors, "optimizer.step") + 1)


class OneElement(Step):
    """One weight of 4608 in the last but one convolution is off by 2^-10 of itself."""

    def edit(self, tensors):
        g = tensor(tensors, "gradients.5.0.weight")
        g[17, 3, 1, 2] *= 1 + 2**-10
        put(tensors, "gradients.5.0.weight", g)
        put(tensors, "unscaled.5.0.weight", g)


def example():
    """The step of the page docs/step-files.md."""
    script = os.path.join(os.path.dirname(__file__), "../../../docs/step-files/torch_step.py")
    subprocess.run([sys.executable, os.path.abspath(script)], cwd=FOLDER, check=True)
    ran = subprocess.run([PROGRAM, "judge-step", os.path.join(FOLDER, "torch.safetensors")],
                         check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check("right: the example of the page", ran.returncode == 0 and " 0 wrong, 0 not judged" in
          ran.stdout, ran.stdout)


def without_network(name, model, optimizer, gradients=None, masters=None, note="", **options):
    """Three steps of any model, of which the last is judged; with a note, that is its one cause."""
    torch.manual_seed(2)
    x, labels = torch.randn(16, 40), torch.randint(5, (16,))
    for _ in range(3):
        optimizer.zero_grad()
        model.zero_grad()
        with dump_step(PATH, model, optimizer, masters=masters, **options):
            half = next(model.parameters()).dtype
            nn.functional.cross_entropy(model(x.to(half)).float(), labels).backward()
            if gradients:
                gradients()
            optimizer.step()
            for parameter, master in (masters or {}).items():
                dict(model.named_parameters())[parameter].data.copy_(master)
    ran = subprocess.run([PROGRAM, "judge-step", PATH], check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    text = " ".join(ran.stdout.split())
    held = f"The cause: {note}" in text if note else " 0 wrong, 0 not judged" in text
    check(f"without a network: {name}", held and ran.returncode == bool(note), ran.stdout)


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(40, 30), nn.LayerNorm(30), nn.GELU(), nn.Linear(30, 5))


def any_models():
    model = mlp()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0, "lr": 1e-2}]
    without_network("groups and clipping", model, torch.optim.AdamW(groups, 1e-3, weight_decay=0.1),
                    lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1), clip=0.1)
    without_network("an eps that the file does not state", model := mlp(),
                    torch.optim.Adam(model.parameters(), eps=1e-5), eps=1e-8,
                    note="eps is 1e-05, where the file says 1e-08")
    model = mlp()
    without_network("no clipping", model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
                    clip=0.1, note="the gradients were not clipped")
    half = mlp().bfloat16()
    masters = {name: p.detach().float() for name, p in half.named_parameters()}

    def copy():
        for name, p in half.named_parameters():
            masters[name].grad = p.grad.float()

    without_network("masters", half, torch.optim.SGD(list(masters.values()), 0.1, momentum=0.9),
                    copy, masters)


example()
any_models()
right("fp32", Single())
right("fp64", Double())
# torch 1.13 on the CPU adds up the products of a linear layer's gradients in bf16.
SUMS = "its sums are as inexact as an accumulator of bf16 makes them; fp32 was due"
right("bf16 autocast", Autocast(), known=(("9", SUMS),))
right("scaled and clipped", Scaled())
right("SGD with Nesterov's momentum", Momentum())
right("Adam with coupled decay", CoupledAdam())
wrong("not unscaled", NotUnscaled(), "unscale", "0.0.weight", "unscaled",
      "were not divided by the scale")
wrong("clipped before unscaling", ClippedFirst(), "unscale", "0.0.weight",
      "unscaled, clipped", "clipped before they were divided")
wrong("not clipped", NotClipped(), "unscale", "0.0.weight", "unscaled, clipped",
      "were not clipped")
wrong("eps inside", EpsInside(), "update", "0.0.weight", "weight", "eps stands under the root")
wrong("decay coupled", DecayCoupled(), "update", "0.0.weight", "first moment",
      "added to the gradient")
wrong("a gradient twice", GradientTwice(), "backward", "4.inner.1", "gradient of the filter",
      "2 times what it should be")
wrong("biased running variance", BiasedVariance(), "forward", "0", "running variance", "biased")
wrong("one activation in bf16", OneInHalf(), "forward", "3", "convolution", "number of bf16")
wrong("one convolution on bf16", OneOnHalf(), "forward", "3", "convolution", "computed in bf16")
wrong("wrong padding", Padding(), "forward", "1", "convolution")
wrong("batch norm's momentum", NormMomentum(), "forward", "3", "running mean")
wrong("batch norm's eps", NormEps(), "forward", "3", "batch norm, leaky ReLU")
wrong("a step too many", StepCount(), "update", "0.0.weight", "weight", "a step too few")
wrong("one element", OneElement(), "backward", "5", "gradient of the filter")
print(f"{len(FAILED)} failed")
sys.exit(bool(FAILED))
