"""Three small networks and their trainings, into which bugs.py plants its bugs: a GPT in the manner
of nanoGPT, a ResNet, and a mixture of experts with what LLaMA is made of."""

import torch
from torch import nn
import torch.nn.functional as F

PAD = 0  # of the GPT's tokens


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def mask(self, length):
        return torch.ones(length, length, dtype=torch.bool).tril()

    def weights(self, scores):
        return scores.masked_fill(~self.mask(scores.shape[-1]), float("-inf")).softmax(-1)

    def rotated(self, x):
        return x

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, 2))
        a = self.weights(self.rotated(q) @ self.rotated(k).transpose(-2, -1) * self.scale)
        return self.out((a @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.up, self.act = nn.Linear(width, 4 * width), nn.GELU()
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.down(self.act(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, words=64, width=32, length=24, blocks=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.3)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, width, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.short = (nn.Identity() if stride == 1 and inside == width else
                      nn.Conv2d(inside, width, 1, stride, bias=False))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.short(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.mean, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x):
        x = self.blocks(self.pool(F.relu(self.bn(self.stem(x)))))
        return self.head(self.mean(x).flatten(1))


class RMSNorm(nn.Module):
    """As LLaMA's."""

    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * y.to(x.dtype)


class Rotary(Attention):
    """Attention with rotated queries and keys. The network starts at a place far inside of a
    text."""

    first, angles_in = 1000, torch.float32

    def rotated(self, x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half) / half)
        places = torch.arange(self.first, self.first + x.shape[-2])
        angles = places.to(self.angles_in)[:, None] * rates.to(self.angles_in)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Gated(torch.autograd.Function):
    """silu(a) b, with a gradient of its own."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return F.silu(a) * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        return grad * b * s * (1 + a * (1 - s)), grad * F.silu(a)


class Expert(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        self.gated = Gated

    def forward(self, x):
        return self.down(self.gated.apply(self.gate(x), self.up(x)))


class Experts(nn.Module):
    def __init__(self, width, count=4, chosen=2):
        super().__init__()
        self.router, self.chosen = nn.Linear(width, count, bias=False), chosen
        self.experts = nn.ModuleList(Expert(width, 2 * width) for _ in range(count))

    def shares(self, x):
        shares, which = self.router(x).softmax(-1).topk(self.chosen, -1)
        return shares / shares.sum(-1, keepdim=True), which

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        shares, which = self.shares(rows)
        total = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            token, slot = (which == number).nonzero(as_tuple=True)
            if len(token):
                part = expert(rows[token]) * shares[token, slot, None]
                total = total.index_add(0, token, part.to(total.dtype))
        return total.view_as(x)


class Sparse(nn.Module):
    def __init__(self, words=64, width=32):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.norm1, self.attention = RMSNorm(width), Rotary(width, 4)
        self.norm2, self.experts = RMSNorm(width), Experts(width)
        self.norm, self.head = RMSNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        x = x + self.attention(self.norm1(x))
        x = x + self.experts(self.norm2(x))
        return self.head(self.norm(x))


class Masters:
    """An optimizer on copies in fp32 of parameters in bf16, in the manner of Apex O2."""

    def __init__(self, model):
        self.model = list(model.parameters())
        self.masters = [p.detach().float().requires_grad_() for p in self.model]
        self.inner = torch.optim.AdamW(self.masters, 1e-2)

    def give_back(self):
        for master, parameter in zip(self.masters, self.model):
            parameter.copy_(master)

    @torch.no_grad()
    def step(self):
        for master, parameter in zip(self.masters, self.model):
            master.grad = parameter.grad.float()
        self.inner.step()
        self.give_back()

    def zero_grad(self):
        for parameter in self.model:
            parameter.grad = None


class Training:
    """One of the three, with what a bug may replace: model, optimizer, scaler, loss, batch, step.
    The precision is fp32, autocast (of bf16, for the ResNet of fp16 with a scaler), or bf16."""

    accumulate = 1

    def __init__(self, network, precision):
        torch.manual_seed(0)
        self.precision, self.images = precision, network == "resnet"
        self.model = {"gpt": GPT, "resnet": ResNet, "moe": Sparse}[network]()
        if precision == "bf16":
            self.model.bfloat16()
        parameters, self.scaler = self.model.parameters(), None
        if network == "moe" and precision == "bf16":
            self.optimizer = Masters(self.model)
        elif network == "resnet":
            self.optimizer = torch.optim.SGD(parameters, 0.1, momentum=0.9, weight_decay=1e-2)
        else:
            self.optimizer = torch.optim.AdamW(parameters, 1e-2, weight_decay=0.1)
        if network == "resnet" and precision == "autocast":
            self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def batch(self):
        if self.images:
            return torch.rand(8, 3, 12, 12), torch.randint(0, 10, (8,))
        ids = torch.randint(1, 64, (4, 25))
        if isinstance(self.model, GPT):
            ids[:2, 15:] = PAD
        return ids[:, :-1], ids[:, 1:]

    def loss(self, got, want):
        if self.images:
            return F.cross_entropy(got, want)
        return F.cross_entropy(got.reshape(-1, got.shape[-1]), want.reshape(-1), ignore_index=PAD)

    def backward(self):
        low = torch.float16 if self.scaler else torch.bfloat16
        for _ in range(self.accumulate):
            inputs, want = self.batch()
            if self.images and self.precision == "bf16":
                inputs = inputs.bfloat16()
            with torch.autocast("cpu", low, enabled=self.precision == "autocast"):
                loss = self.loss(self.model(inputs), want) / self.accumulate
            (self.scaler.scale(loss) if self.scaler else loss).backward()

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def update(self):
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
            self.clip()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.clip()
            self.optimizer.step()

    def step(self):
        self.optimizer.zero_grad()
        self.backward()
        self.update()
