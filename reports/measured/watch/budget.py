"""Holds the budget of the loss's error to what happens.

    PYTHONPATH=python HALFCHECK_PROGRAM=build/dev/halfcheck python3 reports/measured/watch/budget.py

A small GPT and Darknet-16, all in bf16, on eight batches each. halfcheck.torch.watch says by how
much each row, an operator in a layer, has moved the loss. Of the ten rows that it names first, and
of ten that it calls harmless, each is then computed in fp64 alone, on the inputs that it has; what
takes its result computes in fp64 from it, and rounds as ever. What the loss does is the truth. It
has a part that no budget can know: a rounding that comes later may go the other way once its input
is a little different. So there is a second truth, without that part: the whole step in fp64, with
the row's own error put into it alone."""

import math
import os
import sys

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import halfcheck.torch
from halfcheck.torch import wide
from halfcheck.torch.darknet import darknet
from halfcheck.torch.layers import Layers
from halfcheck.torch.watching import _MOVES

BATCHES = 8
MOVES = (*_MOVES, "clone", "cat", "stack")  # they round nothing


class Block(nn.Module):
    """Of a GPT: attention in plain operators, and an MLP."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.ln2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln1(x)).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(torch.ones(time, time, dtype=torch.bool).triu(1), -math.inf)
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, time, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class GPT(nn.Module):
    """Two blocks of width 64 over 65 characters."""

    def __init__(self, names=65, width=64, time=32):
        super().__init__()
        self.token, self.place = nn.Embedding(names, width), nn.Embedding(time, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, names)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.ln(self.blocks(x)))


def gpt():
    """The network, its batches, and the loss of one: the next of characters that go up by one."""
    def batch():
        first = torch.randint(0, 65, (16, 1))
        noise = (torch.rand(16, 33) < 0.1) * torch.randint(0, 65, (16, 33))
        return (first + torch.arange(33) + noise) % 65

    def loss(model, ids):
        scores = model(ids[:, :-1]).flatten(0, 1)
        return F.cross_entropy(scores.float(), ids[:, 1:].flatten())
    return GPT(), [batch() for _ in range(BATCHES)], loss


def images():
    """Darknet-16 on images of 32 x 32, whose class is where they are bright."""
    model = darknet("darknet16")
    for module in model.modules():
        if isinstance(module, nn.LeakyReLU):
            module.inplace = False  # so that each result stays as it was made

    def batch():
        classes = torch.randint(0, 10, (16,))
        x = torch.randn(16, 3, 32, 32)
        for image, where in zip(x, classes.tolist()):
            image[where % 3, where * 3:where * 3 + 4] += 2
        return x, classes

    def loss(model, given):
        x, classes = given
        return F.cross_entropy(model(x.to(next(model.parameters()).dtype)).float(), classes)
    return model, [batch() for _ in range(BATCHES)], loss


class Steps(TorchDispatchMode):
    """Runs a forward pass, call by call. What is done with each is `act(i, func, args, kwargs)`."""

    def __init__(self, act):
        super().__init__()
        self.act, self.count = act, -1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        with wide.alone():
            return self.act(self.count, func, args, kwargs or {})


def forward(model, loss, given, act):
    with torch.no_grad(), Steps(act):
        return float(loss(model, given))


class Plain:
    """The pass as it is: what each call is called, its formats, and its own error."""

    def __init__(self, model, loss, given):
        self.calls, self.layers = [], Layers()
        self.layers.open()
        self.loss = forward(model, loss, given, self.act)
        self.layers.close()

    def act(self, _, func, args, kwargs):
        name = func._schema.name.split("::")[-1]
        overload = name + ("." + func._schema.overload_name if func._schema.overload_name else "")
        try:
            wanted, _ = wide.run(func, args, kwargs)
        except wide.NotWide:
            wanted = []
        results = func(*args, **kwargs)
        got = list(wide.tensors([results]))
        self.calls.append((overload, self.layers.now(False) or "outside of layers",
                           [t.dtype for t in got],
                           [wide.error(a, b) if a.is_floating_point() else None
                            for a, b in zip(got, wanted)]))
        return results

    def of(self, row):
        return {i for i, (overload, place, *_) in enumerate(self.calls)
                if (overload, place) == (row["operator"], row["place"])}


def exact(model, loss, given, plain, chosen):
    """The loss when these calls alone are computed in fp64."""
    def act(i, func, args, kwargs):
        assert plain.calls[i][0].startswith(func._schema.name.split("::")[-1])
        lifted = any(t.dtype == torch.float64 for t in wide.numbers([*args, *kwargs.values()]))
        if not lifted and i not in chosen or plain.calls[i][0].split(".")[0] in MOVES:
            return func(*args, **kwargs)
        results, _ = wide.run(func, args, kwargs)
        if not results:  # the number itself
            return func(*args, **kwargs)
        if i not in chosen:
            results = [t.to(kind) for t, kind in zip(results, plain.calls[i][2])]
        return results[0] if len(results) == 1 else tuple(results)
    return forward(model, loss, given, act)


def put_in(model, loss, given, plain, chosen):
    """The loss in fp64 with the own errors of these calls."""
    def act(i, func, args, kwargs):
        if func._schema.name == "aten::_to_copy":
            results = [args[0].to(torch.float64, copy=True)]
        else:
            made = func(*args, **kwargs)
            results = list(wide.tensors([made]))
            if not results:
                return made
        if i in chosen:
            results = [t if error is None else t + error
                       for t, error in zip(results, plain.calls[i][3])]
        return results[0] if len(results) == 1 else tuple(results)
    return forward(model, loss, given, act)


def rank_correlation(a, b):
    """Spearman's."""
    def ranks(values):
        order = sorted(range(len(values)), key=lambda i: values[i])
        found = [0.0] * len(values)
        for rank, i in enumerate(order):
            found[i] = float(rank)
        return found
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / sum((x - mean) ** 2 for x in a)


def rms(values):
    return math.sqrt(sum(value * value for value in values) / len(values))


def train(model, batches, loss):
    """Forty steps in fp32, so that the loss is no network's first one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        optimizer.zero_grad()
        loss(model, batches[step % len(batches)]).backward()
        optimizer.step()


def hold(name, make, out):
    torch.manual_seed(1)
    model, batches, loss = make()
    train(model, batches, loss)
    model.bfloat16()
    watching = halfcheck.torch.watch(budget=True)
    with watching as seen:
        for given in batches:
            loss(model, given).backward()
            watching.next_step()
    budget, = seen.views
    rows = [row for row in budget.table() if row["size"] > 0]
    chosen = rows[:10] + rows[-10:]
    truths, clean, signed = [], [], []
    plains = [Plain(model, loss, given) for given in batches]
    alone = [[exact(model, loss, given, plain, plain.of(row)) - plain.loss
              for given, plain in zip(batches, plains)] for row in chosen]
    wide_model = model.double()
    base = [put_in(wide_model, loss, given, plain, ()) for given, plain in zip(batches, plains)]
    inside = [[put_in(wide_model, loss, given, plain, plain.of(row)) - b
               for given, plain, b in zip(batches, plains, base)] for row in chosen]
    for row, a, b in zip(chosen, alone, inside):
        truths.append(rms(a))
        clean.append(rms(b))
        sums = list(budget.rows[row["place"], row["operator"], row["format"]]["sums"].values())
        signed += list(zip(sums, b))
    sizes = [row["size"] for row in chosen]
    print(f"{name}: loss {sum(base) / len(base):.4f} in fp64, "
          f"{sum(p.loss for p in plains) / len(plains):.4f} in bf16; "
          f"{len(rows)} rows with an error", file=out)
    print("    budget  exact alone  put in alone  operator and layer", file=out)
    for row, truth, other in zip(chosen, truths, clean):
        print(f"  {row['size']:8.1e}     {truth:8.1e}      {other:8.1e}  {row['operator']}, "
              f"{row['place']}", file=out)
    print(f"rank correlation with the row exact alone: {rank_correlation(sizes, truths):.3f}; "
          f"put in alone: {rank_correlation(sizes, clean):.3f}", file=out)
    first = min(range(10), key=lambda i: truths[i])
    last = max(range(10, 20), key=lambda i: truths[i])
    print(f"the least of the first ten moves the loss by {truths[first]:.1e}, and the most of the "
          f"harmless ten by {truths[last]:.1e}", file=out)
    same = sum(a * b > 0 for a, b in signed)
    off = rms([a - b for a, b in signed]) / rms([b for _, b in signed])
    print(f"batch by batch, {same} of {len(signed)} have the sign of the error put in alone; the\n"
          f"difference is {100 * off:.1f} % of it, by root mean squares\n", file=out)


def main():
    torch.set_num_threads(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.txt")
    with open(path, "w", encoding="utf-8") as out:
        print(f"PyTorch {torch.__version__.split('+')[0]} on a processor; {BATCHES} batches, root "
              "mean squares over them\n", file=out)
        hold("small GPT", gpt, out)
        hold("Darknet-16", images, out)
    with open(path, encoding="utf-8") as file:
        sys.stdout.write(file.read())


if __name__ == "__main__":
    main()
