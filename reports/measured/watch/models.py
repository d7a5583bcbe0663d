"""Eight networks as people train them, in plain PyTorch and small: what each makes of its input,
its loss, and a batch for it."""

import math

import torch
from torch import nn
import torch.nn.functional as F

VOCABULARY, WIDTH, TIME, BATCH = 64, 64, 32, 2


class Block(nn.Module):
    """A block of nanoGPT: layer norm, causal attention in one operator, gelu."""

    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Language(nn.Module):
    """What every model of tokens here has around its blocks."""

    def __init__(self, blocks, norm, tied=False, positions=False):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(TIME, WIDTH) if positions else None
        self.blocks, self.norm = nn.ModuleList(blocks), norm
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        if self.positions is not None:
            x = x + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def loss(self, batch):
        ids, targets = batch
        return F.cross_entropy(self(ids).flatten(0, 1), targets.flatten())


def tokens():
    ids = torch.randint(0, VOCABULARY, (BATCH, TIME + 1))
    return ids[:, :-1], ids[:, 1:]


def gpt():
    return Language([Block(), Block()], nn.LayerNorm(WIDTH), tied=True, positions=True), tokens


class RMSNorm(nn.Module):
    """As LLaMA has it."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Grouped(nn.Module):
    """Attention of LLaMA: four heads that share the keys of two, turned by their places."""

    def __init__(self, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, WIDTH // heads
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, groups * self.each, bias=False)
        self.v = nn.Linear(WIDTH, groups * self.each, bias=False)
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)

    def turned(self, x, t):
        half = self.each // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.outer(torch.arange(t, dtype=torch.float32), rates)
        angles = torch.cat([angles, angles], -1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (made(x).view(b, t, -1, self.each).transpose(1, 2)
                   for made in (self.q, self.k, self.v))
        q, k = self.turned(q, t), self.turned(k, t)
        k, v = (part.repeat_interleave(self.heads // self.groups, 1) for part in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class SwiGLU(nn.Module):
    def __init__(self, inner=128):
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.norm1, self.norm2, self.attention = RMSNorm(), RMSNorm(), Grouped()
        self.mlp = inner or SwiGLU()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def llama():
    return Language([LlamaBlock(), LlamaBlock()], RMSNorm()), tokens


class Experts(nn.Module):
    """Each token goes to two of four experts."""

    def __init__(self, count=4):
        super().__init__()
        self.router = nn.Linear(WIDTH, count, bias=False)
        self.experts = nn.ModuleList(SwiGLU() for _ in range(count))

    def forward(self, x):
        flat = x.reshape(-1, WIDTH)
        weights, chosen = torch.topk(F.softmax(self.router(flat).float(), -1), 2)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            row, which = torch.where(chosen == number)
            out = out.index_add(0, row, (expert(flat[row]) * weights[row, which, None]).to(x.dtype))
        return out.view_as(x)


def experts():
    return Language([LlamaBlock(Experts()), LlamaBlock(Experts())], RMSNorm()), tokens


class StateSpace(nn.Module):
    """A block of Mamba, whose scan is a loop."""

    def __init__(self, inner=64, state=8):
        super().__init__()
        self.norm = RMSNorm()
        self.inner, self.state = inner, state
        self.enter = nn.Linear(WIDTH, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.select = nn.Linear(inner, 4 + 2 * state, bias=False)
        self.rate = nn.Linear(4, inner)
        self.log_a = nn.Parameter(torch.arange(1.0, state + 1).log().repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.leave = nn.Linear(inner, WIDTH, bias=False)

    def forward(self, x):
        t = x.shape[1]
        u, gate = self.enter(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :t].transpose(1, 2))
        low, b, c = self.select(u).split([4, self.state, self.state], -1)
        rate = F.softplus(self.rate(low))
        decay = torch.exp(rate[..., None] * -torch.exp(self.log_a.float()))
        put = (rate * u)[..., None] * b[:, :, None]
        h, rows = torch.zeros_like(put[:, 0]), []
        for i in range(t):
            h = decay[:, i] * h + put[:, i]
            rows.append((h * c[:, i, None]).sum(-1))
        y = torch.stack(rows, 1) + self.skip * u
        return x + self.leave((y * F.silu(gate)).to(x.dtype))


def state_space():
    return Language([StateSpace(), StateSpace()], RMSNorm()), tokens


class Recurrent(Language):
    def __init__(self):
        super().__init__([], nn.Identity())
        self.lstm = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True, dropout=0.1)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])


def lstm():
    return Recurrent(), tokens


class Images(nn.Module):
    """Images, and which of ten they are."""

    def loss(self, batch):
        images, labels = batch
        return F.cross_entropy(self(images), labels)


def images(size):
    def draw():
        return torch.randn(4, 3, size, size), torch.randint(0, 10, (4,))
    return draw


class ViT(Images):
    def __init__(self, patch=8, size=32):
        super().__init__()
        self.cut = nn.Conv2d(3, WIDTH, patch, stride=patch)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 128, dropout=0.1, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x)[:, 0]))


def vit():
    return ViT(), images(32)


class Bottleneck(nn.Module):
    def __init__(self, entering, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(entering, width, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(n) for n in (width, width, 4 * width))
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride > 1 or entering != 4 * width:
            self.down = nn.Sequential(nn.Conv2d(entering, 4 * width, 1, stride, bias=False),
                                      nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


class ResNet50(Images):
    """All 50 layers, an eighth as wide."""

    def __init__(self, base=8):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, base, 7, 2, 3, bias=False), nn.BatchNorm2d(base)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        blocks, entering = [], base
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                blocks.append(Bottleneck(entering, base << stage, 2 if stage and not i else 1))
                entering = 4 * base << stage
        self.blocks, self.mean = nn.Sequential(*blocks), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(entering, 10)

    def forward(self, x):
        x = self.pool(self.relu(self.bn(self.conv(x))))
        return self.head(self.mean(self.blocks(x)).flatten(1))


def resnet50():
    return ResNet50(), images(64)


class Residual(nn.Module):
    def __init__(self, entering, leaving):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, entering), nn.GroupNorm(4, leaving)
        self.conv1 = nn.Conv2d(entering, leaving, 3, padding=1)
        self.conv2 = nn.Conv2d(leaving, leaving, 3, padding=1)
        self.time = nn.Linear(WIDTH, leaving)
        self.beside = nn.Conv2d(entering, leaving, 1) if entering != leaving else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        y = self.conv2(F.dropout(F.silu(self.norm2(y)), 0.1, self.training))
        return self.beside(x) + y


class UNet(nn.Module):
    """Of diffusion: what noise was added to an image at some time."""

    def __init__(self, width=16):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)
        self.down1, self.down2 = Residual(width, width), Residual(width, 2 * width)
        self.strided = nn.Conv2d(width, width, 3, 2, 1)
        self.middle = Residual(2 * width, 2 * width)
        self.norm, self.heads = nn.GroupNorm(4, 2 * width), nn.Linear(2 * width, 6 * width)
        self.transposed = nn.ConvTranspose2d(2 * width, 2 * width, 2, 2)
        self.up1, self.up2 = Residual(4 * width, 2 * width), Residual(3 * width, width)

    def attention(self, x):
        b, c, h, w = x.shape
        q, k, v = self.heads(self.norm(x).flatten(2).transpose(1, 2)).view(
            b, h * w, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + y.transpose(1, 2).reshape(b, h * w, c).transpose(1, 2).view(b, c, h, w)

    def forward(self, x, when):
        rates = torch.exp(-math.log(1e4) * torch.arange(WIDTH // 2) / (WIDTH // 2))
        angles = when[:, None] * rates
        time = torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype)
        a = self.down1(self.enter(x), time)
        b = self.down2(self.strided(a), time)
        c = self.attention(self.middle(F.max_pool2d(b, 2), time))
        c = self.up1(torch.cat([self.transposed(c), b], 1), time)
        c = F.interpolate(c, scale_factor=2, mode="nearest")
        return self.leave(self.up2(torch.cat([c, a], 1), time))

    def loss(self, batch):
        noisy, when, noise = batch
        return F.mse_loss(self(noisy, when), noise)


def unet():
    def draw():
        noise = torch.randn(2, 3, 16, 16)
        return torch.randn(2, 3, 16, 16) + noise, torch.rand(2) * 1000, noise
    return UNet(), draw


MODELS = {"nanoGPT": gpt, "LLaMA": llama, "ViT": vit, "ResNet-50": resnet50, "UNet": unet,
          "experts": experts, "state space": state_space, "LSTM": lstm}
