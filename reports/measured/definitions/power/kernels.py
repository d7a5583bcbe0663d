"""Right kernels in numpy and torch, by the library's texts: faults.txt says how each is made wrong.

A function is named as its definition; what follows two underscores tells it from another kernel of
the same definition. Where a number is an equation of the text, it has the equation's name, so that
power.py can say which equation parts first. All arithmetic is in fp32, functions by way of fp64."""

import math

import numpy as np
import torch

f32, f64 = np.float32, np.float64


def wide(x):
    return x.astype(f32)


def to(y, x):
    """Rounded to the format of x."""
    return y.astype(x.dtype)


def stored(y, x):
    """Rounded to the format of x, and back in fp32."""
    return y.astype(x.dtype).astype(f32)


def bf16(x):
    return torch.from_numpy(np.ascontiguousarray(x)).bfloat16().float().numpy()


def through(function):
    return lambda x: function(x.astype(f64)).astype(f32)


exp, log, log1p, tanh, cos, sin = map(through, (np.exp, np.log, np.log1p, np.tanh, np.cos, np.sin))
erf = through(np.vectorize(math.erf, otypes=[f64]))


def dot(a, b):
    """Products of matrices, in fp32."""
    return np.matmul(a, b, dtype=f32)


def sum_bf16(x, axis=0):
    """A sum whose accumulator is bf16."""
    total = np.zeros(np.delete(x.shape, axis), f32)
    for row in np.moveaxis(x, axis, 0):
        total = bf16(total + row)
    return total


def dot_bf16(a, b):
    """A product of matrices whose accumulator is bf16."""
    return sum_bf16(a[..., :, :, None] * b[..., None, :, :], -2)


# norms

def rms_norm(x, w, eps=1e-6):
    a, b = wide(x), wide(w)
    r = 1 / np.sqrt((a * a).mean(-1, keepdims=True) + f32(eps))
    y = a * r * b
    return to(y, x)


def rms_norm_llama(x, w, eps=1e-6):
    a = wide(x)
    r = 1 / np.sqrt((a * a).mean(-1, keepdims=True) + f32(eps))
    h = stored(a * r, x)
    return to(h * wide(w), x)


def rms_norm_gemma(x, w, eps=1e-6):
    a = wide(x)
    r = 1 / np.sqrt((a * a).mean(-1, keepdims=True) + f32(eps))
    return to(a * r * (1 + wide(w)), x)


def rms_norm_backward(dy, x, w, rstd):
    a, d, r = wide(x), wide(dy), wide(rstd)[:, None]
    g = d * wide(w)
    c = (g * a).mean(-1, keepdims=True) * r * r
    dx = r * (g - a * c)
    dw = (d * a * r).sum(0)
    return to(dx, x), to(dw, x)


def layer_norm(x, w, b, eps=1e-5):
    a = wide(x)
    mu = a.mean(-1, keepdims=True)
    v = ((a - mu) ** 2).mean(-1, keepdims=True)
    y = (a - mu) / np.sqrt(v + f32(eps)) * wide(w) + wide(b)
    return to(y, x)


def layer_norm_backward(dy, x, w, mu, rstd):
    d, r = wide(dy), wide(rstd)[:, None]
    h = (wide(x) - wide(mu)[:, None]) * r
    g = d * wide(w)
    ga = g.mean(-1, keepdims=True)
    gh = (g * h).mean(-1, keepdims=True)
    dx = r * (g - ga - h * gh)
    dw = (d * h).sum(0)
    db = d.sum(0)
    return to(dx, x), to(dw, x), to(db, x)


def add_layer_norm(x, r, w, b, eps=1e-5):
    s = stored(wide(x) + wide(r), x)
    mu = s.mean(-1, keepdims=True)
    v = ((s - mu) ** 2).mean(-1, keepdims=True)
    y = (s - mu) / np.sqrt(v + f32(eps)) * wide(w) + wide(b)
    return to(y, x), to(s, x)


def group_norm(x, w, b, groups=2, eps=1e-5):
    a = wide(x).reshape(x.shape[0], groups, -1)
    mu = a.mean(-1, keepdims=True)
    v = ((a - mu) ** 2).mean(-1, keepdims=True)
    r = 1 / np.sqrt(v + f32(eps))
    y = ((a - mu) * r).reshape(x.shape) * wide(w)[:, None] + wide(b)[:, None]
    return to(y, x)


def batch_norm(x, w, b, rm, rv, momentum=0.1, eps=1e-5):
    a, n = wide(x), len(x)
    mu = a.mean(0)
    v = ((a - mu) ** 2).mean(0)
    y = (a - mu) / np.sqrt(v + f32(eps)) * wide(w) + wide(b)
    rm2 = f32(1 - momentum) * wide(rm) + f32(momentum) * mu
    rv2 = f32(1 - momentum) * wide(rv) + f32(momentum) * (v * f32(n) / f32(n - 1))
    return to(y, x), rm2, rv2


def l2_normalize(x, eps=1e-12):
    a = wide(x)
    r = np.maximum(np.sqrt((a * a).sum(-1, keepdims=True)), f32(eps))
    return to(a / r, x)


def weight_norm(v, g):
    a = wide(v)
    r = wide(g)[:, None] / np.sqrt((a * a).sum(-1, keepdims=True))
    return to(a * r, v)


# activations

def silu(x):
    a = wide(x)
    return to(a / (1 + exp(-a)), x)


def silu_backward(dy, x):
    a = wide(x)
    s = 1 / (1 + exp(-a))
    return to(wide(dy) * s * (1 + a * (1 - s)), x)


def gelu(x):
    a = wide(x)
    y = f32(0.5) * a * (1 + erf(a / f32(math.sqrt(2))))
    return to(y, x)


def gelu_tanh(x):
    a = wide(x)
    y = f32(0.5) * a * (1 + tanh(f32(math.sqrt(2 / math.pi)) * (a + f32(0.044715) * a * a * a)))
    return to(y, x)


def gelu_backward(dy, x):
    a = wide(x)
    phi = exp(f32(-0.5) * a * a) / f32(math.sqrt(2 * math.pi))
    dx = wide(dy) * (f32(0.5) * (1 + erf(a / f32(math.sqrt(2)))) + a * phi)
    return to(dx, x)


def swiglu(gate, up):
    g = wide(gate)
    return to(g / (1 + exp(-g)) * wide(up), gate)


def softcap(x, cap=30.0):
    a = wide(x)
    return to(f32(cap) * tanh(a / f32(cap)), x)


def softplus(x, threshold=20):
    a = wide(x)
    return to(np.where(a > threshold, a, log1p(exp(a))), x)


def elu(x, alpha=1.0):
    a = wide(x)
    h = through(np.expm1)(a)
    return to(np.where(a > 0, a, f32(alpha) * h), x)


# softmax and losses

def softmax(x):
    a = wide(x)
    m = a.max(-1, keepdims=True)
    e = exp(a - m)
    l = e.sum(-1, keepdims=True)
    return to(e / l, x)


def softmax__tiles(x):
    a, tile = wide(x), 16
    m, l = np.full((len(a), 1), -np.inf, f32), np.zeros((len(a), 1), f32)
    for first in range(0, a.shape[1], tile):
        part = a[:, first:first + tile]
        higher = np.maximum(m, part.max(-1, keepdims=True))
        l = l * exp(m - higher) + exp(part - higher).sum(-1, keepdims=True)
        m = higher
    return to(exp(a - m) / l, x)


def softmax_backward(dy, y):
    d, p = wide(dy), wide(y)
    s = (p * d).sum(-1, keepdims=True)
    return to(p * (d - s), y)


def log_softmax(x):
    a = wide(x)
    m = a.max(-1, keepdims=True)
    l = log(exp(a - m).sum(-1, keepdims=True))
    return to(a - m - l, x)


def log_softmax_backward(dy, y):
    d = wide(dy)
    s = d.sum(-1, keepdims=True)
    return to(d - exp(wide(y)) * s, y)


def logsumexp(x):
    a = wide(x)
    m = a.max(-1, keepdims=True)
    return to((m + log(exp(a - m).sum(-1, keepdims=True)))[:, 0], x)


def cross_entropy(z, target, ignore=-100):
    a, rows = wide(z), np.arange(len(z))
    m = a.max(-1)
    counts = target != ignore
    at = np.where(counts, target, 0)
    nll = log(exp(a - m[:, None]).sum(-1)) + m - a[rows, at]
    nll = np.where(counts, nll, f32(0))
    loss = nll.sum() / f32(counts.sum())
    return loss


def cross_entropy_smoothing(z, target, eps=0.1, ignore=-100):
    a, rows = wide(z), np.arange(len(z))
    m = a.max(-1)
    counts = target != ignore
    at = np.where(counts, target, 0)
    lse = m + log(exp(a - m[:, None]).sum(-1))
    b = (lse[:, None] - a).mean(-1)
    a = f32(1 - eps) * (lse - a[rows, at]) + f32(eps) * b
    loss = np.where(counts, a, f32(0)).sum() / f32(counts.sum())
    return loss


def cross_entropy_weighted(z, target, w, ignore=-100):
    a, rows = wide(z), np.arange(len(z))
    m = a.max(-1)
    counts = target != ignore
    at = np.where(counts, target, 0)
    nll = log(exp(a - m[:, None]).sum(-1)) + m - a[rows, at]
    k = np.where(counts, wide(w)[at], f32(0))
    loss = (k * np.where(counts, nll, f32(0))).sum() / k.sum()
    return loss


def cross_entropy_z_loss(z, target, weight=1e-4):
    a = wide(z)
    m = a.max(-1)
    lse = m + log(exp(a - m[:, None]).sum(-1))
    loss = (lse - a[np.arange(len(a)), target] + f32(weight) * lse * lse).mean()
    return loss


def cross_entropy_backward(z, target, dloss, ignore=-100):
    a = wide(z)
    m = a.max(-1, keepdims=True)
    l = exp(a - m).sum(-1, keepdims=True)
    counts = target != ignore
    at = np.where(counts, target, 0)
    k = wide(dloss) / f32(counts.sum())
    p = exp(a - m) / l
    p[np.arange(len(z)), at] -= 1
    dz = np.where(counts[:, None], p * k, f32(0))
    return to(dz, z)


def linear_cross_entropy(x, w, target, ignore=-100):
    z = dot(wide(x), wide(w).T)
    m = z.max(-1)
    counts = target != ignore
    at = np.where(counts, target, 0)
    nll = log(exp(z - m[:, None]).sum(-1)) + m - z[np.arange(len(z)), at]
    loss = np.where(counts, nll, f32(0)).sum() / f32(counts.sum())
    return loss


def bce_with_logits(x, target):
    a = wide(x)
    return to(np.maximum(a, 0) - a * wide(target) + log1p(exp(-abs(a))), x)


def kl_div(x, target):
    t = wide(target)
    a = np.where(t > 0, t * (log(t) - wide(x)), f32(0))
    return to(a.sum() / f32(len(x)), x)


def huber(x, target, delta=1.0):
    e = abs(wide(x) - wide(target))
    d = f32(delta)
    return to(np.where(e < d, f32(0.5) * e * e, d * (e - f32(0.5) * d)).mean(), x)


def mse(x, target):
    return to(((wide(x) - wide(target)) ** 2).mean(), x)


def cosine_similarity(x, z, eps=1e-8):
    p, q = wide(x), wide(z)
    a = np.maximum(np.sqrt((p * p).sum(-1)), f32(eps))
    b = np.maximum(np.sqrt((q * q).sum(-1)), f32(eps))
    y = ((p / a[:, None]) * (q / b[:, None])).sum(-1)
    return to(y, x)


def dpo_loss(pw, pl, rw, rl, beta=0.1):
    x = f32(beta) * ((wide(pw) - wide(rw)) - (wide(pl) - wide(rl)))
    loss = (np.maximum(-x, 0) + log1p(exp(-abs(x)))).mean()
    return loss


def info_nce(a, b, scale=10.0):
    z = f32(scale) * dot(wide(a), wide(b).T)
    m, q = z.max(1), z.max(0)
    own = np.diagonal(z)
    r = m + log(exp(z - m[:, None]).sum(1)) - own
    c = q + log(exp(z - q).sum(0)) - own
    loss = f32(0.5) * (r.mean() + c.mean())
    return loss


# products

def linear(x, w, b):
    y = dot(wide(x), wide(w).T) + wide(b)
    return to(y, x)


def addmm(c, a, b, alpha=1.0, beta=1.0):
    y = f32(beta) * wide(c) + f32(alpha) * dot(wide(a), wide(b))
    return to(y, c)


def matmul(a, b):
    p, q = wide(a), wide(b)
    k = p.shape[1]
    y = np.zeros((len(p), q.shape[1]), f32)
    for first in range(0, k, 16):
        y = y + dot(p[:, first:first + 16], q[first:first + 16])
    return to(y, a)


def linear_int4(x, q, scale, zero, group=4):
    i = np.arange(x.shape[1])
    code = np.where(i % 2 == 0, q[:, i // 2] % 16, q[:, i // 2] // 16 % 16)
    w = (wide(code) - wide(zero)[:, i // group]) * wide(scale)[:, i // group]
    return to(dot(wide(x), w.T), x)


def linear_int8(x, q, scale):
    y = dot(wide(x), wide(q).T) * wide(scale)
    return to(y, x)


def linear_fp8_blocks(x, w, sx, sw, block=4):
    a, b = wide(x), wide(w)
    y = np.zeros((len(a), len(b)), f32)
    for p in range(sx.shape[1]):
        part = slice(p * block, (p + 1) * block)
        rows = np.arange(len(b)) // block
        y = y + dot(a[:, part], b[:, part].T) * wide(sx)[:, p, None] * wide(sw)[rows, p]
    return to(y, x)


def newton_schulz(x, a=3.4445, b=-4.7750, k=2.0315):
    c = wide(x)
    p = dot(c, c.T)
    m = f32(b) * p + f32(k) * dot(p, p)
    return to(f32(a) * c + dot(m, c), x)


# attention

def attention(q, k, v, causal=True):
    t, u = q.shape[1], k.shape[1]
    s = dot(wide(q), wide(k).transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    if causal:
        s = np.where(np.arange(u) <= np.arange(t)[:, None] + u - t, s, f32(-np.inf))
    m = s.max(-1, keepdims=True)
    e = exp(s - m)
    p = stored(e, q)
    l = e.sum(-1, keepdims=True)
    y = dot(p, wide(v)) / l
    lse = (m + log(l))[..., 0]
    return to(y, q), lse


def attention__tiles(q, k, v, causal=True):
    t, u, tile = q.shape[1], k.shape[1], 16
    m = np.full((q.shape[0], t, 1), -np.inf, f32)
    l, y = np.zeros_like(m), np.zeros((q.shape[0], t, v.shape[2]), f32)
    for first in range(0, u, tile):
        part = slice(first, min(first + tile, u))
        s = dot(wide(q), wide(k)[:, part].transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
        seen = np.arange(part.start, part.stop) <= np.arange(t)[:, None] + u - t
        s = np.where(seen, s, f32(-np.inf))
        higher = np.maximum(m, s.max(-1, keepdims=True))
        held = np.where(np.isinf(higher), f32(0), higher)
        e = exp(s - held)
        rescale = exp(m - held)
        l = l * rescale + e.sum(-1, keepdims=True)
        y = y * rescale + dot(stored(e, q), wide(v)[:, part])
        m = higher
    return to(y / l, q), (m + log(l))[..., 0]


def attention_backward(q, k, v, o, lse, dy):
    t, u, scale = q.shape[1], k.shape[1], f32(q.shape[2] ** -0.5)
    a, b, d = wide(q), wide(k), wide(dy)
    s = dot(a, b.transpose(0, 2, 1)) * scale
    s = np.where(np.arange(u) <= np.arange(t)[:, None] + u - t, s, f32(-np.inf))
    p = exp(s - wide(lse)[..., None])
    delta = (d * wide(o)).sum(-1, keepdims=True)
    ds = stored(p * (dot(d, wide(v).transpose(0, 2, 1)) - delta), q)
    w = stored(p, q)
    dq = scale * dot(ds, b)
    dk = scale * dot(ds.transpose(0, 2, 1), a)
    dv = dot(w.transpose(0, 2, 1), d)
    return to(dq, q), to(dk, q), to(dv, q)


def attention_window(q, k, v, window=4):
    t, u = q.shape[1], k.shape[1]
    s = dot(wide(q), wide(k).transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    last, at = np.arange(t)[:, None] + u - t, np.arange(u)
    s = np.where((at <= last) & (at > last - window), s, f32(-np.inf))
    m = s.max(-1, keepdims=True)
    e = exp(s - m)
    y = dot(stored(e, q), wide(v)) / e.sum(-1, keepdims=True)
    return to(y, q)


def attention_softcap(q, k, v, cap=50.0):
    t, u, c = q.shape[1], k.shape[1], f32(cap)
    s = dot(wide(q), wide(k).transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    s = c * tanh(s / c)
    s = np.where(np.arange(u) <= np.arange(t)[:, None] + u - t, s, f32(-np.inf))
    m = s.max(-1, keepdims=True)
    e = exp(s - m)
    y = dot(stored(e, q), wide(v)) / e.sum(-1, keepdims=True)
    return to(y, q)


def attention_sinks(q, k, v, sink):
    t, u = q.shape[1], k.shape[1]
    s = dot(wide(q), wide(k).transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    s = np.where(np.arange(u) <= np.arange(t)[:, None] + u - t, s, f32(-np.inf))
    b = wide(sink)[:, None, None]
    m = np.maximum(s.max(-1, keepdims=True), b)
    e = exp(s - m)
    l = e.sum(-1, keepdims=True) + exp(b - m)
    return to(dot(stored(e, q), wide(v)) / l, q)


def attention_alibi(q, k, v, slope):
    t, u = q.shape[1], k.shape[1]
    s = dot(wide(q), wide(k).transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    last, at = np.arange(t)[:, None] + u - t, np.arange(u)
    s = s - wide(slope)[:, None, None] * wide(last - at)
    s = np.where(at <= last, s, f32(-np.inf))
    m = s.max(-1, keepdims=True)
    e = exp(s - m)
    y = dot(stored(e, q), wide(v)) / e.sum(-1, keepdims=True)
    return to(y, q)


def attention_grouped(q, k, v):
    h, t, u = q.shape[0], q.shape[1], k.shape[1]
    heads = np.arange(h) * k.shape[0] // h
    s = dot(wide(q), wide(k)[heads].transpose(0, 2, 1)) * f32(q.shape[2] ** -0.5)
    s = np.where(np.arange(u) <= np.arange(t)[:, None] + u - t, s, f32(-np.inf))
    m = s.max(-1, keepdims=True)
    e = exp(s - m)
    y = dot(stored(e, q), wide(v)[heads]) / e.sum(-1, keepdims=True)
    return to(y, q)


def attention_merge(a, la, b, lb):
    m = np.maximum(wide(la), wide(lb))
    wa, wb = exp(wide(la) - m), exp(wide(lb) - m)
    y = (wa[..., None] * wide(a) + wb[..., None] * wide(b)) / (wa + wb)[..., None]
    lse = m + log(wa + wb)
    return to(y, a), lse


def rotary_halves(x, co, si):
    a = wide(x)
    half = a.shape[-1] // 2
    z = np.concatenate((-a[..., half:], a[..., :half]), -1)
    return to(a * wide(co) + z * wide(si), x)


def rotary_pairs(x, co, si):
    a, c, s = wide(x), wide(co), wide(si)
    y = np.empty_like(a)
    y[..., 0::2] = a[..., 0::2] * c - a[..., 1::2] * s
    y[..., 1::2] = a[..., 1::2] * c + a[..., 0::2] * s
    return to(y, x)


def linear_attention(q, k, v, decay=0.9):
    state = np.zeros((q.shape[1], v.shape[1]), f32)
    y = np.empty((len(q), v.shape[1]), f32)
    for t in range(len(q)):
        state = f32(decay) * state + wide(k)[t, :, None] * wide(v)[t]
        y[t] = dot(wide(q)[t], state)
    return to(y, q)


# experts, sequences, images

def router_softmax(z, k=2):
    a = wide(z)
    order = np.argsort(-a, -1, kind="stable")[:, :k]
    keep = np.zeros(a.shape, bool)
    np.put_along_axis(keep, order, True, -1)
    m = a.max(-1, keepdims=True)
    p = np.where(keep, exp(a - m), f32(0))
    l = p.sum(-1, keepdims=True)
    return np.where(keep, p / l, f32(0))


def moe_combine(x, weight, row):
    y = (wide(weight)[..., None] * wide(x)[row]).sum(1)
    return to(y, x)


def embedding_backward(dy, id, rows=16, padding=-1):
    dw = np.zeros((rows, dy.shape[1]), f32)
    for n in range(len(id)):
        if 0 <= id[n] < rows and id[n] != padding:
            dw[id[n]] += wide(dy)[n]
    return to(dw, dy)


def cumsum(x):
    a = wide(x)
    return to(np.cumsum(a, -1, dtype=f32), x)


def gated_scan(x, a, start):
    h, rows = wide(start), []
    for t in range(len(x)):
        g = wide(a)[t]
        h = g * h + (1 - g) * wide(x)[t]
        rows.append(h)
    return to(np.stack(rows), x)


def ssm_scan(x, dt, a, b, g, skip):
    h = np.zeros(a.shape, f32)
    rows = []
    for t in range(len(x)):
        d = wide(dt)[t, :, None]
        h = exp(d * wide(a)) * h + d * wide(b)[t] * wide(x)[t, :, None]
        rows.append((wide(g)[t] * h).sum(-1) + wide(skip) * wide(x)[t])
    return to(np.stack(rows), x)


def conv1d_causal(x, w, b):
    c, taps, t = wide(x), w.shape[1], x.shape[2]
    padded = np.pad(c, ((0, 0), (0, 0), (taps - 1, 0)))
    a = sum(wide(w)[:, k, None] * padded[:, :, k:k + t] for k in range(taps))
    a = a + wide(b)[:, None]
    return to(a / (1 + exp(-a)), x)


def avg_pool2d(x, size=2, stride=2):
    a = wide(x)
    rows, columns = (a.shape[2] - size) // stride + 1, (a.shape[3] - size) // stride + 1
    parts = [a[:, :, r:r + stride * rows:stride, s:s + stride * columns:stride]
             [:, :, :rows, :columns] for r in range(size) for s in range(size)]
    return to(sum(parts) / f32(size * size), x)


def dropout(x, keep, p=0.1):
    y = np.where(keep != 0, wide(x) / f32(1 - p), f32(0))
    return to(y, x)


# optimizers

def adamw(p, g, m, v, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01):
    c1, c2 = 1 - beta1, 1 - beta2
    m2 = f32(beta1) * wide(m) + f32(1 - beta1) * wide(g)
    v2 = f32(beta2) * wide(v) + f32(1 - beta2) * wide(g) * wide(g)
    root = np.sqrt(v2) / f32(math.sqrt(c2)) + f32(eps)
    p2 = wide(p) * f32(1 - lr * decay) - f32(lr / c1) * m2 / root
    return to(p2, p), to(m2, p), to(v2, p)


def adam_l2(p, w, m, v, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01):
    c1, c2 = 1 - beta1, 1 - beta2
    g = wide(w) + f32(decay) * wide(p)
    m2 = f32(beta1) * wide(m) + f32(1 - beta1) * g
    v2 = f32(beta2) * wide(v) + f32(1 - beta2) * g * g
    root = np.sqrt(v2) / f32(math.sqrt(c2)) + f32(eps)
    p2 = wide(p) - f32(lr / c1) * m2 / root
    return to(p2, p), to(m2, p), to(v2, p)


def sgd(p, g, buf, lr=0.1, momentum=0.9, decay=5e-4):
    buf2 = f32(momentum) * wide(buf) + (wide(g) + f32(decay) * wide(p))
    p2 = wide(p) - f32(lr) * buf2
    return to(p2, p), to(buf2, p)


def lion(p, g, m, lr=1e-4, beta1=0.9, beta2=0.99, decay=0.1):
    c = f32(beta1) * wide(m) + f32(1 - beta1) * wide(g)
    p2 = wide(p) * f32(1 - lr * decay) - f32(lr) * np.sign(c)
    m2 = f32(beta2) * wide(m) + f32(1 - beta2) * wide(g)
    return to(p2, p), to(m2, p)


def ema(e, p, decay=0.999):
    y = f32(decay) * wide(e) + f32(1 - decay) * wide(p)
    return to(y, e)


def clip_grad_norm(g, limit=1.0, eps=1e-6):
    a = wide(g)
    norm = np.sqrt((a * a).sum())
    y = a * np.minimum(f32(limit) / (norm + f32(eps)), f32(1))
    return to(y, g), to(norm, g)


# gradients by torch's autograd

def swiglu__backward(gate, up):
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, gate, up):
            ctx.save_for_backward(gate, up)
            return (gate.float() * torch.sigmoid(gate.float()) * up.float()).to(gate.dtype)

        @staticmethod
        def backward(ctx, dy):
            gate, up = (x.float() for x in ctx.saved_tensors)
            s, d = torch.sigmoid(gate), dy.float()
            dgate = d * (up * (s * (1 + gate * (1 - s))))
            dup = d * gate * s
            return dgate.to(dy.dtype), dup.to(dy.dtype)
    return Fused.apply(gate, up)


def l2_normalize__backward(x):
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            a = x.float()
            return (a / a.pow(2).sum(-1, keepdim=True).sqrt().clamp(min=1e-12)).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            a, d = ctx.saved_tensors[0].float(), dy.float()
            n = a.pow(2).sum(-1, keepdim=True).sqrt().clamp(min=1e-12)
            s = (d * a).sum(-1, keepdim=True)
            return (d / n - a * (s / n / n / n)).to(dy.dtype)
    return Fused.apply(x)


def linear__backward(x, w, b):
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return (x.float() @ w.float().T + b.float()).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            (x, w), d = (t.float() for t in ctx.saved_tensors), dy.float()
            dx, dw, db = d @ w, d.T @ x, d.sum(0)
            return dx.to(dy.dtype), dw.to(dy.dtype), db.to(dy.dtype)
    return Fused.apply(x, w, b)


def softcap__backward(x):
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (30 * torch.tanh(x.float() / 30)).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            h = torch.tanh(ctx.saved_tensors[0].float() / 30)
            return (dy.float() * (1 - h * h)).to(dy.dtype)
    return Fused.apply(x)
