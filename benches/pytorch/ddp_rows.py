#!/usr/bin/env python3
"""What a real PyTorch's DistributedDataParallel does, on two processes of this machine's CPU: which
gradients share a bucket, what FSDP divides by, and the bits of averages, with and without compress
hooks.

    python3 ddp_rows.py [FILE]

Writes the rows that src/train/parallel/reduction_test.c holds halfcheck's wrappers to (default: to
standard output). On two ranks every order of a sum has the same bits, and a division by 2 those of
a product with a half."""
import random
import struct
import sys
import tempfile
import textwrap

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.distributed.algorithms._comm_hooks import default_hooks as fsdp
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as ddp

FORMATS = {"s": torch.float32, "h": torch.float16}
ELEMENTS = 24


def layouts(n: int, draw: random.Random) -> list[tuple[str, int]]:
    """Gradients as text, "37s 5h" for counts in single and half, and the size of buckets (0:
    PyTorch's own)."""
    rows = []
    for i in range(n):
        own = i % 3 == 0
        most = (12 << 20 if draw.random() < 0.3 else 300000) if own else 60
        counts = [int(most ** draw.random()) for _ in range(draw.randint(1, 14))]
        text = " ".join(f"{c}{draw.choice('sssh' if i % 2 else 's')}" for c in counts)
        rows.append((text, 0 if own else draw.choice([1, 40, 100, 400])))
    return rows


def buckets(text: str, size: int) -> str:
    """As rebuilt after the first step, from the last gradient on; by their first gradients."""
    gradients = [torch.empty(int(w[:-1]), dtype=FORMATS[w[-1]]) for w in text.split()]
    order = list(reversed(range(len(gradients))))
    limits = [size, size] if size else [1 << 20, 25 << 20]
    of, _ = dist._compute_bucket_assignment_by_size(
        [gradients[i] for i in order], limits, [False] * len(order), order)
    return " | ".join(" ".join(map(str, b)) for b in sorted(of, key=lambda b: -b[0]))


class Given(torch.autograd.Function):
    """A loss of which the parameter's gradient is given."""

    @staticmethod
    def forward(ctx, parameter, gradient):
        ctx.save_for_backward(gradient)
        return parameter.float().sum()

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0], None


class Model(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.parameter = torch.nn.Parameter(torch.zeros(ELEMENTS, dtype=dtype))

    def forward(self, gradient):
        return Given.apply(self.parameter, gradient)


def gradients(rank: int) -> torch.Tensor:
    """Of 40 binades, among them what half cannot hold."""
    draw = random.Random(11 + rank)
    return torch.tensor([draw.uniform(1, 2) * 2.0 ** draw.randint(-26, 16) * draw.choice([1, -1])
                         for _ in range(ELEMENTS)])


def averages(dtype: torch.dtype, hook, gradient: torch.Tensor) -> torch.Tensor:
    model = torch.nn.parallel.DistributedDataParallel(Model(dtype))
    if hook:
        model.register_comm_hook(None, hook)
    for _ in range(2):
        model.module.parameter.grad = None
        model(gradient.to(dtype)).backward()
    return model.module.parameter.grad.float()


def work(rank: int, file: str, results) -> None:
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    x = gradients(rank)
    fully = x.half()
    fsdp.allreduce_hook(fsdp.DefaultState(dist.group.WORLD), fully)
    got = {"fp32+wrapper=torch-ddp": averages(torch.float32, None, x),
           "fp16-pure+wrapper=torch-ddp": averages(torch.float16, None, x),
           "fp32+wrapper=torch-ddp+reduce=fp16": averages(torch.float32, ddp.fp16_compress_hook, x),
           "fp16-pure+wrapper=fsdp": fully.float()}
    if rank == 0:
        results.put({name: values.tolist() for name, values in got.items()})
    dist.barrier()


def averaged() -> dict[str, list[float]]:
    results = processes.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        context = processes.spawn(work, (folder + "/meeting", results), nprocs=2, join=False)
        got = results.get()
        while not context.join():
            pass
    return got


def bits(x: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', x))[0]:08x}"


def array(values: list[float]) -> str:
    """Numbers as fp32 bits."""
    return textwrap.fill("{" + ", ".join(map(bits, values)) + "}", 96)


def main() -> None:
    draw = random.Random(5)
    lines = [f"/* By benches/pytorch/ddp_rows.py with torch {torch.__version__}. */",
             "/* Gradients, size of buckets (0: torch's), buckets by their first gradients. */",
             "static const struct torch_buckets torch_buckets[] = {"]
    lines += [f'{{"{t}", {size},\n "{buckets(t, size)}"}},' for t, size in layouts(60, draw)]
    factor = fsdp.DefaultState._get_gradient_predivide_factor
    lines += ["};", "/* What FSDP divides by before the sum, on 1, 2, ... ranks. */",
              "static const int torch_roots[] = {"]
    lines += [", ".join(f"{factor(None, n):.0f}" for n in range(k, k + 16)) + ","
              for k in range(1, 513, 16)]
    lines += ["};", "/* Gradients of two ranks, and their averages, as fp32 bits. */",
              f"static const uint32_t torch_gradients[2][{ELEMENTS}] = {{"]
    lines += [array(gradients(rank).tolist()) + "," for rank in range(2)]
    lines += ["};", "static const struct torch_averages torch_averages[] = {"]
    lines += [f'{{"{name}",\n{array(values)}}},' for name, values in averaged().items()]
    text = "\n".join(lines + ["};"]) + "\n"
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
