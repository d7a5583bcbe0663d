"""Kinds of training: precisions, optimizers, and what else people put around a step."""

import contextlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import models


class Float8(torch.autograd.Function):
    """A linear layer as torchao trains it: x and w in e4m3, their gradient in e5m2, each with one
    scale, and three products by torch._scaled_mm."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        (x8, sx), (w8, sw) = (_scaled(t, torch.float8_e4m3fn) for t in (x, w))
        return torch._scaled_mm(x8, w8.t(), sx, sw, out_dtype=torch.bfloat16)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        d8, sd = _scaled(dy, torch.float8_e5m2)
        t8, st = _scaled(dy.t().contiguous(), torch.float8_e5m2)
        (w8, sw), (x8, sx) = (_scaled(t.t().contiguous(), torch.float8_e4m3fn) for t in (w, x))
        return (torch._scaled_mm(d8, w8.t(), sd, sw, out_dtype=torch.bfloat16),
                torch._scaled_mm(t8, x8.t(), st, sx, out_dtype=torch.bfloat16))


def _scaled(tensor, kind):
    scale = tensor.abs().max().float().clamp(min=1e-12) / torch.finfo(kind).max
    return (tensor / scale).to(kind), scale


class Linear8(nn.Linear):
    def forward(self, x):
        y = Float8.apply(x.reshape(-1, x.shape[-1]).bfloat16(), self.weight.bfloat16())
        y = y.view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias.to(y.dtype)


def in_float8(model):
    """All linear layers whose lengths are multiples of 16, which _scaled_mm asks for."""
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is nn.Linear and not (child.in_features % 16 or child.out_features % 16):
                child.__class__ = Linear8
    return model


class Stochastic:
    """AdamW on weights in bf16, whose update is rounded stochastically, as torchao's does it."""

    def __init__(self, parameters, lr):
        self.masters = list(parameters)
        self.inner = torch.optim.AdamW([torch.zeros_like(p, dtype=torch.float32)
                                        for p in self.masters], lr=lr)
        self.param_groups = self.inner.param_groups

    def zero_grad(self):
        for p in self.masters:
            p.grad = None

    def step(self):
        wide = self.inner.param_groups[0]["params"]
        with torch.no_grad():
            for p, w in zip(self.masters, wide):
                w.copy_(p)
                w.grad = None if p.grad is None else p.grad.float()
            self.inner.step()
            for p, w in zip(self.masters, wide):
                bits = w.view(torch.int32)
                noise = torch.randint(0, 1 << 16, bits.shape, dtype=torch.int32)
                p.copy_((bits + noise & -65536).view(torch.float32))


OPTIMIZERS = {
    "SGD": lambda p, **how: torch.optim.SGD(p, 1e-2, momentum=0.9, weight_decay=1e-2, **how),
    "Adam": lambda p, **how: torch.optim.Adam(p, 1e-3, weight_decay=1e-2, **how),
    "AdamW": lambda p, **how: torch.optim.AdamW(p, 1e-3, **how)}
HOW = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


class Kind:
    """What a training is made of."""

    def __init__(self, precision="fp32", optimizer="AdamW", how="foreach", clip=True, micro=1,
                 checkpoint=False):
        self.precision, self.optimizer, self.how = precision, optimizer, how
        self.clip, self.micro, self.checkpoint = clip, micro, checkpoint


PRECISIONS = ["fp32", "autocast bf16", "autocast fp16", "bf16", "bf16 stochastic", "float8"]
KINDS = {
    **{name: Kind(name) for name in PRECISIONS},
    **{f"{name} {how}": Kind(optimizer=name, how=how) for name in OPTIMIZERS for how in HOW},
    "bf16 AdamW fused": Kind("bf16", how="fused"),
    "accumulation": Kind(micro=2), "checkpointing": Kind("autocast bf16", checkpoint=True)}
del KINDS["AdamW foreach"]  # which is fp32


class Training:
    """A model with all that its kind of training needs, on batches that are drawn beforehand."""

    BATCHES = 4

    def __init__(self, model, kind, seed=0, wrap=None):
        torch.manual_seed(seed)
        self.kind = kind
        self.model, self.draw = models.MODELS[model]()
        if kind.precision in ("bf16", "bf16 stochastic"):
            self.model.bfloat16()
        if kind.precision == "float8":
            in_float8(self.model)
        self.called = wrap(self.model) if wrap else self.model.loss
        if kind.precision == "bf16 stochastic":
            self.optimizer = Stochastic(self.model.parameters(), 1e-3)
        else:
            self.optimizer = OPTIMIZERS[kind.optimizer](self.model.parameters(), **HOW[kind.how])
        self.scaler = (torch.amp.GradScaler("cpu", init_scale=1024.0)
                       if kind.precision == "autocast fp16" else None)
        self.draw_of(seed)

    def draw_of(self, seed):
        """Draws the batches."""
        torch.manual_seed(seed)
        self.batches, self.taken = [self.draw() for _ in range(self.BATCHES)], 0
        if self.kind.precision.startswith("bf16"):
            self.batches = [tuple(t.bfloat16() if t.is_floating_point() and t.dim() > 1 else t
                                  for t in batch) for batch in self.batches]

    def _context(self):
        kinds = {"autocast bf16": torch.bfloat16, "autocast fp16": torch.float16,
                 "float8": torch.bfloat16}
        if self.kind.precision in kinds:
            return torch.autocast("cpu", kinds[self.kind.precision])
        return contextlib.nullcontext()

    def _loss(self):
        batch = self.batches[self.taken % self.BATCHES]
        self.taken += 1
        with self._context():
            if self.kind.checkpoint:
                return checkpoint(self.called, batch, use_reentrant=False)
            return self.called(batch)

    def step(self):
        """One step, whose loss is returned."""
        self.optimizer.zero_grad()
        for _ in range(self.kind.micro):
            loss = self._loss() / self.kind.micro
            (self.scaler.scale(loss) if self.scaler else loss).backward()
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        if self.kind.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        return loss.detach()
