"""More right kernels in numpy, in the way of kernels.py: later.txt says how each is made wrong."""

# pylint: disable=wildcard-import,unused-wildcard-import
from kernels import *


# norms and activations

def instance_norm(x, w, b, eps=1e-5):
    a = wide(x)
    mu = a.mean(-1, keepdims=True)
    v = ((a - mu) ** 2).mean(-1, keepdims=True)
    y = (a - mu) / np.sqrt(v + f32(eps)) * wide(w)[:, None] + wide(b)[:, None]
    return to(y, x)


def layer_norm_kept(x, w, b, eps=1e-5):
    a = wide(x)
    mu = a.mean(-1, keepdims=True)
    v = ((a - mu) ** 2).mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(v + f32(eps))
    y = (a - mu) * rstd * wide(w) + wide(b)
    return to(y, x), mu[:, 0], rstd[:, 0]


def rms_norm_t5(x, w, eps=1e-6):
    a = wide(x)
    v = (a * a).mean(-1, keepdims=True)
    h = stored(a * (1 / np.sqrt(v + f32(eps))), x)
    return to(wide(w) * h, x)


def batch_norm_inference(x, w, b, rm, rv, eps=1e-5):
    a = wide(w) / np.sqrt(wide(rv) + f32(eps))
    s = wide(b) - wide(rm) * a
    return to(wide(x) * a + s, x)


def gelu_quick(x):
    a = wide(x)
    return to(a / (1 + exp(f32(-1.702) * a)), x)


def swiglu_backward(gate, up, dy):
    g, u, d = wide(gate), wide(up), wide(dy)
    s = 1 / (1 + exp(-g))
    dgate = d * u * s * (1 + g * (1 - s))
    dup = d * g * s
    return to(dgate, gate), to(dup, gate)


# losses and experts

def smooth_l1(x, target, beta=1.0):
    e, b = abs(wide(x) - wide(target)), f32(beta)
    return to(np.where(e < b, f32(0.5) * e * e / b, e - f32(0.5) * b).mean(), x)


def linear_cross_entropy_stored(x, w, target, ignore=-100):
    z = stored(dot(wide(x), wide(w).T), x)
    m = z.max(-1)
    counts = target != ignore
    at = np.where(counts, target, 0)
    nll = log(exp(z - m[:, None]).sum(-1)) + m - z[np.arange(len(z)), at]
    loss = np.where(counts, nll, f32(0)).sum() / f32(counts.sum())
    return loss


def router_sigmoid(z, bias, k=2, scale=2.5):
    s = 1 / (1 + exp(-wide(z)))
    b = s + wide(bias)
    order = np.argsort(-b, -1, kind="stable")[:, :k]
    keep = np.zeros(b.shape, bool)
    np.put_along_axis(keep, order, True, -1)
    p = np.where(keep, s, f32(0))
    l = p.sum(-1, keepdims=True) + f32(1e-20)
    return f32(scale) * p / l


def router_balance_loss(z):
    a, experts = wide(z), z.shape[1]
    e = exp(a - a.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    c = np.bincount(a.argmax(-1), minlength=experts).astype(f32)
    loss = f32(experts) * (c / f32(len(a)) * p.mean(0)).sum()
    return loss


# products and quantisation

def linear_fp8(x, w, sx, sw):
    y = dot(wide(x), wide(w).T) * wide(sx) * wide(sw)
    return to(y, x)


def linear_int8_dynamic(a, q, sa, sq):
    codes = (a.astype(np.int64) @ q.astype(np.int64).T).astype(f32)
    y = codes * wide(sa)[:, None] * wide(sq)
    return to(y, sa)


def e4m3(x):
    """The nearest e4m3 number, ties to even."""
    a = abs(x.astype(f64))
    step = np.exp2(np.floor(np.log2(np.maximum(a, 2.0**-6))) - 3)
    return (np.sign(x) * np.minimum(np.rint(a / step) * step, 448)).astype(f32)


def quantize_rows(x, eps=1e-12):
    a = wide(x)
    scale = np.maximum(abs(a).max(-1, keepdims=True), f32(eps)) / f32(448)
    y = e4m3(a / scale)
    return y, scale[:, 0]


# images and sequences

def conv1d(x, w, b, stride=1, pad=1, dilation=1):
    taps = w.shape[2]
    places = (x.shape[2] + 2 * pad - dilation * (taps - 1) - 1) // stride + 1
    padded = np.pad(wide(x), ((0, 0), (0, 0), (pad, pad)))
    y = np.zeros((len(x), len(w), places), f32)
    for k in range(taps):
        part = padded[:, :, dilation * k:dilation * k + stride * (places - 1) + 1:stride]
        y += dot(wide(w)[:, :, k], part)
    return to(y + wide(b)[:, None], x)


def max_pool2d(x, size=2, stride=2):
    a = wide(x)
    rows, columns = (a.shape[2] - size) // stride + 1, (a.shape[3] - size) // stride + 1
    parts = [a[:, :, r:r + stride * rows:stride, s:s + stride * columns:stride]
             [:, :, :rows, :columns] for r in range(size) for s in range(size)]
    return to(np.maximum.reduce(parts), x)


def interpolate_linear(x, size=7):
    a, length = wide(x), x.shape[2]
    place = np.maximum((2 * np.arange(size) + 1) * length - size, 0)
    low, f = place // (2 * size), (place % (2 * size)).astype(f32) / f32(2 * size)
    y = (1 - f) * a[..., low] + f * a[..., np.minimum(low + 1, length - 1)]
    return to(y, x)


def rotary_table(pos, inv):
    a = wide(pos)[:, None] * wide(inv)
    return to(cos(a), inv), to(sin(a), inv)


# optimizers

def adafactor(p, g, vr, vc, lr=1e-2, beta=0.9, eps=1e-30):
    a = wide(g)
    vr2 = f32(beta) * wide(vr) + f32(1 - beta) * (a * a + f32(eps)).mean(1)
    vc2 = f32(beta) * wide(vc) + f32(1 - beta) * (a * a + f32(eps)).mean(0)
    k = vr2.mean()
    u = a / np.sqrt(vr2[:, None] / k * vc2)
    rms = np.sqrt((u * u).mean())
    p2 = wide(p) - f32(lr) * u / np.maximum(f32(1), rms)
    return to(p2, p), to(vr2, p), to(vc2, p)


def muon(p, g, buf, u, lr=0.02, momentum=0.95, decay=0.1):
    rows, columns = p.shape
    buf2 = f32(momentum) * wide(buf) + f32(1 - momentum) * wide(g)
    d = f32(momentum) * buf2 + f32(1 - momentum) * wide(g)
    step = f32(lr * math.sqrt(max(1, rows / columns)))
    p2 = wide(p) * f32(1 - lr * decay) - step * wide(u)
    return to(p2, p), to(d, p), to(buf2, p)
