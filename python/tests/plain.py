"""Plain functions of torch, without a wish for roundings: (function, its inputs, the definition of
the library that is the same function or None, a wrong kernel)."""

import math

import torch
import torch.nn.functional as F


def rms_norm(x, w):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return x * r * w


def rms_norm_outside(x, w):
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-2) * w


def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def layer_norm_by_hand(x, w, b):
    mu = x.mean(-1, keepdim=True)
    v = x.var(-1, unbiased=False, keepdim=True)
    return (x - mu) / torch.sqrt(v + 1e-5) * w + b


def layer_norm_of_samples(x, w, b):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5) * w + b


def group_norm(x, w, b):
    return F.group_norm(x, 2, w, b)


def group_norm_of_one(x, w, b):
    return F.group_norm(x, 1, w, b)


def softmax(x):
    return x.softmax(-1)


def log_softmax(x):
    return torch.log_softmax(x, -1)


def logsumexp(x):
    return torch.logsumexp(x, -1)


def logsumexp_of_means(x):
    return torch.logsumexp(x, -1) - 0.1


def attention(q, k, v):
    t, u = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    gone = torch.ones(t, u).triu(1 + u - t).bool()
    return s.masked_fill(gone, -torch.inf).softmax(-1) @ v


def attention_off_by_one(q, k, v):
    t, u = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return s.masked_fill(torch.ones(t, u).triu(2 + u - t).bool(), -torch.inf).softmax(-1) @ v


def attention_added(q, k, v):
    t, u = q.shape[-2], k.shape[-2]
    bias = torch.full((t, u), -torch.inf).triu(1 + u - t)
    s = (q @ k.transpose(-1, -2) + bias) / math.sqrt(q.shape[-1])
    p = s.softmax(-1)
    return p @ v


def attention_mask(q, k, v, mask):
    s = torch.einsum("htd,hud->htu", q, k) * q.shape[-1]**-0.5 + mask
    return torch.einsum("htu,hue->hte", s.softmax(-1), v)


def attention_mask_forgotten(q, k, v, mask):
    return attention_mask(q, k, v, mask * 0)


def swiglu(gate, up):
    return F.silu(gate) * up


def geglu(gate, up):
    return F.gelu(gate) * up


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def softcap(x):
    return 30 * torch.tanh(x / 30)


def cross_entropy(z, target):
    return F.cross_entropy(z, target)


def cross_entropy_smoothing(z, target):
    return F.cross_entropy(z, target, label_smoothing=0.1)


def cross_entropy_summed(z, target):
    return F.cross_entropy(z, target, reduction="sum") / (len(z) + 1)


def cross_entropy_z_loss(z, target):
    lse = torch.logsumexp(z, -1)
    return (lse - z.gather(1, target[:, None])[:, 0] + 1e-4 * lse**2).mean()


def rotary_halves(x, co, si):
    half = x.shape[-1] // 2
    z = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * co + z * si


def rotary_turned(x, co, si):
    half = x.shape[-1] // 2
    return x * co + torch.cat((x[..., half:], -x[..., :half]), -1) * si


def rotary_pairs(x, co, si):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * co - b * si, a * si + b * co), -1).flatten(-2)


def rotary_pairs_turned(x, co, si):
    return rotary_pairs(x, co, -si)


def linear(x, w, b):
    return F.linear(x, w, b)


def linear_without_bias(x, w, b):
    return F.linear(x, w)


def normalize(x):
    return F.normalize(x, dim=-1)


def embedding(w, id):
    return F.embedding(id, w)


def embedding_of_the_next(w, id):
    return F.embedding((id + 1) % len(w), w)


def bce(x, target):
    return F.binary_cross_entropy_with_logits(x, target, reduction="none")


def cumulative(x):
    n = x.shape[-1]
    return x @ torch.ones(n, n).triu()


def cumulative_before(x):
    n = x.shape[-1]
    return x @ torch.ones(n, n).triu(1)


def two_heads(x, w):
    q = (x @ w.T).view(x.shape[0], 2, -1).transpose(0, 1)
    p = (q @ q.transpose(1, 2)).softmax(-1)
    return (p @ q).transpose(0, 1).reshape(x.shape[0], -1)


def two_heads_confused(x, w):
    q = (x @ w.T).view(x.shape[0], 2, -1).transpose(0, 1)
    p = (q @ q.transpose(1, 2)).softmax(-1)
    return (p @ q).reshape(x.shape[0], -1)


def half_of(function):
    """Wrong by a part of a thousand, which each format can tell in fp32."""
    def wrong(*arguments):
        return function(*arguments) * 1.02
    return wrong


FUNCTIONS = [
    (rms_norm, "x[t, d], w[d]", "rms_norm", rms_norm_outside),
    (layer_norm, "x[t, d], w[d], b[d]", "layer_norm", layer_norm_of_samples),
    (layer_norm_by_hand, "x[t, d], w[d], b[d]", "layer_norm", layer_norm_of_samples),
    (group_norm, "x[n, c, l], w[c], b[c]", "group_norm", group_norm_of_one),
    (softmax, "x[n, c]", "softmax", half_of(softmax)),
    (log_softmax, "x[n, c]", "log_softmax", softmax),
    (logsumexp, "x[n, c]", "logsumexp", logsumexp_of_means),
    (attention, "q[h, t, d], k[h, u, d], v[h, u, e]", "attention", attention_off_by_one),
    (attention_added, "q[h, t, d], k[h, u, d], v[h, u, e]", "attention", attention_off_by_one),
    (attention_mask, "q[h, t, d], k[h, u, d], v[h, u, e], mask[t, u]", "attention_mask",
     attention_mask_forgotten),
    (swiglu, "gate[t, d], up[t, d]", "swiglu", geglu),
    (geglu, "gate[t, d], up[t, d]", "geglu", swiglu),
    (gelu_tanh, "x[i]", "gelu_tanh", F.silu),
    (softcap, "x[i]", "softcap", half_of(softcap)),
    (cross_entropy, "z[n, c], target[n]: index c", "cross_entropy", cross_entropy_summed),
    (cross_entropy_smoothing, "z[n, c], target[n]: index c", "cross_entropy_smoothing",
     cross_entropy),
    (cross_entropy_z_loss, "z[n, c], target[n]: index c", "cross_entropy_z_loss",
     cross_entropy_smoothing),
    (rotary_halves, "x[h, t, d], co[t, d], si[t, d]", "rotary_halves", rotary_turned),
    (rotary_pairs, "x[h, t, d], co[t, p], si[t, p]", "rotary_pairs", rotary_pairs_turned),
    (linear, "x[n, i], w[o, i], b[o]", "linear", linear_without_bias),
    (normalize, "x[n, d]", "l2_normalize", half_of(normalize)),
    (embedding, "w[v, d], id[n]: index v", "embedding", embedding_of_the_next),
    (bce, "x[i], target[i]", "bce_with_logits", half_of(bce)),
    (cumulative, "x[n, t]", "cumsum", cumulative_before),
    (two_heads, "x[t, d], w[e, d]", None, two_heads_confused),
]
