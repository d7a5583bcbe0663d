"""Implementations of the library's definitions, by name: a label and a function of torch's tensors.

A label that begins with a dot names a function of torch. "in fp32" is written here, in plain
operations of torch that are rounded at the end, and where the definition says so; it stands for
what a fused kernel does. "as transformers" has the lines of that package."""

import math

import torch
import torch.nn.functional as F

aten = torch.ops.aten

# Inputs that come in fp32, whatever the others' format.
WIDE = {"layer_norm_backward": ("mu", "rstd"), "rms_norm_backward": ("rstd",),
        "attention_backward": ("lse",), "attention_merge": ("la", "lb"), "rotary_table": ("inv",),
        "rotary_halves": ("co", "si"), "rotary_pairs": ("co", "si"), "batch_norm": ("rm", "rv"),
        "batch_norm_inference": ("rm", "rv"), "batch_norm_centred": ("rm", "rv"),
        "linear_fp8": ("sx", "sw"), "linear_fp8_blocks": ("sx", "sw"), "ssm_scan": ("a", "skip"),
        "moe_combine": ("weight",), "adam8": ("q", "am", "av"), "dpo_loss": ("pw", "pl", "rw", "rl"),
        "cross_entropy_backward": ("dloss",)}


def in_fp32(function):
    """A function that sees fp32, and whose results are rounded to the first argument's format. Those
    that it gives as fp64 stay fp32."""
    def call(**x):
        form = next(v.dtype for v in x.values() if v.dtype.is_floating_point)
        form = x.get("form", form)
        wide = {n: v.float() if v.dtype.is_floating_point else v for n, v in x.items()}
        got = function(**wide)
        got = got if isinstance(got, tuple) else (got,)
        return tuple(g.float() if g.dtype == torch.float64 else g.to(form) for g in got)
    return call


def kept(x):
    """Marks a result that is not rounded."""
    return x.double()


def rms(x, eps=1e-6):
    return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def llama(x, w):
    """LlamaRMSNorm.forward."""
    h = x.to(torch.float32)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * h.to(x.dtype)


def gemma(x, w):
    """GemmaRMSNorm.forward."""
    y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    return (y * (1.0 + w.float())).type_as(x)


def t5(x, w):
    """T5LayerNorm.forward."""
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    h = x * torch.rsqrt(variance + 1e-6)
    if w.dtype in (torch.float16, torch.bfloat16):
        h = h.to(w.dtype)
    return w * h


def rms_backward(dy, x, w, rstd):
    r = rstd[:, None]
    g = dy * w
    return r * (g - x * (g * x).mean(-1, keepdim=True) * r * r), (dy * x * r).sum(0)


def layer_norm_backward(dy, x, w, mu, rstd):
    return aten.native_layer_norm_backward(dy, x, [x.shape[-1]], mu[:, None], rstd[:, None], w,
                                           torch.zeros_like(w), [True] * 3)


def own_layer_norm_backward(dy, x, w, mu, rstd):
    r = rstd[:, None]
    h, g = (x - mu[:, None]) * r, dy * w
    dx = r * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True))
    return dx, (dy * h).sum(0), dy.sum(0)


def batch_norm(x, w, b, rm, rv):
    return F.batch_norm(x, rm, rv, w, b, True, 0.1, 1e-5), rm, rv


def own_batch_norm(x, w, b, rm, rv):
    v, mu = torch.var_mean(x, 0, unbiased=False)
    n = len(x)
    y = (x - mu) * torch.rsqrt(v + 1e-5) * w + b
    return y, kept(0.9 * rm + 0.1 * mu), kept(0.9 * rv + 0.1 * v * n / (n - 1))


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def rotary_pairs(x, co, si):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * co - b * si, a * si + b * co), -1).flatten(-2)


def scores(q, k, causal=True):
    s = q.float() @ k.float().transpose(1, 2) * q.shape[-1]**-0.5
    return masked(s) if causal else s


def masked(s, window=None):
    t, u = s.shape[1:]
    place = torch.arange(u)[None] - torch.arange(t)[:, None] - (u - t)
    gone = place > 0
    if window:
        gone = gone | (place <= -window)
    return s.masked_fill(gone, -torch.inf)


def weigh(s, v, form, extra=None):
    """Weights of scores, rounded to the format before they meet v; extra is a logit without a
    value."""
    m = s.max(-1, keepdim=True).values
    if extra is not None:
        m = torch.maximum(m, extra)
    p = torch.exp(s - m)
    sums = p.sum(-1, keepdim=True)
    if extra is not None:
        sums = sums + torch.exp(extra - m)
    return p.to(form).float() @ v.float() / sums, (m + sums.log()).squeeze(-1)


def online(q, k, v):
    """flash-attention's loop: tiles of 8 keys, rescaled as the maximum rises."""
    s, form = scores(q, k), q.dtype
    m = torch.full((*s.shape[:2], 1), -torch.inf)
    sums, acc = torch.zeros_like(m), torch.zeros(*s.shape[:2], v.shape[-1])
    for at in range(0, s.shape[-1], 8):
        tile = s[..., at:at + 8]
        top = torch.maximum(m, tile.max(-1, keepdim=True).values)
        p, scale = torch.exp(tile - top), torch.exp(m - top)
        sums = sums * scale + p.sum(-1, keepdim=True)
        acc = acc * scale + p.to(form).float() @ v[:, at:at + 8].float()
        m = top
    return (acc / sums).to(form), (m + sums.log()).squeeze(-1)


def attention(score):
    def call(q, k, v, **more):
        s, v, extra = score(q, k, v, **more)
        return weigh(s, v, q.dtype, extra)[0].to(q.dtype)
    return call


def grouped(q, k, v):
    k, v = (x.repeat_interleave(len(q) // len(k), 0) for x in (k, v))
    return scores(q, k), v, None


def alibi(q, k, v, slope):
    t, u = q.shape[1], k.shape[1]
    far = torch.arange(t)[:, None] + (u - t) - torch.arange(u)[None]
    return scores(q, k) - slope.float()[:, None, None] * far, v, None


def eager(q, k, v):
    """eager_attention_forward of transformers."""
    s = torch.matmul(q, k.transpose(1, 2)) * q.shape[-1]**-0.5
    p = F.softmax(masked(s), dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(p, v)


def attention_backward(q, k, v, o, lse, dy):
    form, scale = q.dtype, q.shape[-1]**-0.5
    q, k, v, o, dy = (x.float() for x in (q, k, v, o, dy))
    p = torch.exp(scores(q, k) - lse[..., None])
    ds = p * (dy @ v.transpose(1, 2) - (dy * o).sum(-1, keepdim=True))
    ds, w = ds.to(form).float(), p.to(form).float()
    got = ds @ k * scale, ds.transpose(1, 2) @ q * scale, w.transpose(1, 2) @ dy
    return tuple(g.to(form) for g in got)


def merge(a, la, b, lb):
    m = torch.maximum(la, lb)
    wa, wb = torch.exp(la - m), torch.exp(lb - m)
    y = (wa[..., None] * a + wb[..., None] * b) / (wa + wb)[..., None]
    return y, kept(m + torch.log(wa + wb))


def linear_attention(q, k, v):
    state, rows = torch.zeros(k.shape[1], v.shape[1]), []
    for t in range(len(q)):
        state = 0.9 * state + k[t][:, None] * v[t]
        rows.append(q[t] @ state)
    return torch.stack(rows)


def cross_entropy(**options):
    return lambda z, target, w=None: F.cross_entropy(z, target, weight=w, **options)


def wide_cross_entropy(**options):
    return lambda z, target, w=None: F.cross_entropy(
        z.float(), target, weight=None if w is None else w.float(), **options)


def z_loss(z, target):
    lse = torch.logsumexp(z, -1)
    return kept((lse - z.gather(1, target[:, None])[:, 0] + 1e-4 * lse**2).mean())


def cross_entropy_gradient(z, target, dloss):
    z = z.detach().requires_grad_()
    F.cross_entropy(z, target).backward(dloss.to(z.dtype))
    return z.grad


def wide_cross_entropy_gradient(z, target, dloss):
    z = z.detach().requires_grad_()
    F.cross_entropy(z.float(), target).backward(dloss.float())
    return z.grad


def info_nce(a, b):
    z, at = 10 * a @ b.T, torch.arange(len(a))
    return kept(0.5 * (F.cross_entropy(z, at) + F.cross_entropy(z.T, at)))


def dpo(pw, pl, rw, rl):
    return kept(-F.logsigmoid(0.1 * ((pw - rw) - (pl - rl))).mean())


def router_softmax(z, stable=False):
    """Mixtral's; of equal logits topk takes any, and a stable sort the first one."""
    p = torch.softmax(z.float(), -1)
    top, at = torch.topk(p, 2)
    if stable:
        at = torch.sort(p, dim=-1, stable=True, descending=True).indices[:, :2]
        top = p.gather(1, at)
    return torch.zeros(z.shape).scatter(1, at, top / top.sum(-1, keepdim=True))


def router_sigmoid(z, bias):
    s = torch.sigmoid(z.float())
    at = torch.topk(s + bias.float(), 2).indices
    w = s.gather(1, at)
    return torch.zeros(z.shape).scatter(1, at, w / (w.sum(-1, keepdim=True) + 1e-20) * 2.5)


def balance(z):
    p = torch.softmax(z, -1)
    share = F.one_hot(z.argmax(-1), z.shape[1]).float().mean(0)
    return kept(z.shape[1] * (share * p.mean(0)).sum())


def causal_conv(x, w, b):
    c, k = w.shape
    return F.silu(F.conv1d(x, w[:, None], b, padding=k - 1, groups=c)[..., :x.shape[-1]])


def ssm(x, dt, a, b, g, skip):
    state, rows = torch.zeros(a.shape), []
    for t in range(len(x)):
        state = torch.exp(dt[t][:, None] * a) * state + (dt[t] * x[t])[:, None] * b[t]
        rows.append((state * g[t]).sum(-1) + skip * x[t])
    return torch.stack(rows)


def gated(x, a, start):
    state, rows = start, []
    for t in range(len(x)):
        state = a[t] * state + (1 - a[t]) * x[t]
        rows.append(state)
    return torch.stack(rows)


def schulz_step(x):
    p = x @ x.T
    return 3.4445 * x + (-4.7750 * p + 2.0315 * p @ p) @ x


def muon(p, g, buf, u):
    buf2 = buf.lerp(g, 0.05)
    return p * (1 - 0.02 * 0.1) - 0.02 * max(1, p.shape[0] / p.shape[1])**0.5 * u, \
        g.lerp(buf2, 0.95), buf2


def optimizer(kind, state, **options):
    """One step of torch.optim, from a state that is given."""
    def call(p, g, **kept_state):
        p = torch.nn.Parameter(p)
        p.grad = g
        it = kind([p], foreach=False, **options)
        step = {} if kind is torch.optim.SGD else {"step": torch.tensor(0.0)}
        it.state[p] = {**step, **{state[n]: v for n, v in kept_state.items()}}
        it.step()
        return (p.detach(), *(it.state[p][name] for name in state.values()))
    return call


def own_adamw(p, g, m, v):
    m2, v2 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    p2 = p * (1 - 1e-5) - 1e-3 / 0.1 * m2 / (v2.sqrt() / math.sqrt(0.001) + 1e-8)
    return p2, m2, v2


def own_adam(p, w, m, v):
    g = w + 0.01 * p
    m2, v2 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 / 0.1 * m2 / (v2.sqrt() / math.sqrt(0.001) + 1e-8), m2, v2


def own_sgd(p, g, buf):
    buf2 = 0.9 * buf + (g + 5e-4 * p)
    return p - 0.1 * buf2, buf2


def adafactor(p, g, vr, vc):
    squares = g**2 + 1e-30
    vr2, vc2 = 0.9 * vr + 0.1 * squares.mean(1), 0.9 * vc + 0.1 * squares.mean(0)
    u = g * (vr2 / vr2.mean()).rsqrt()[:, None] * vc2.rsqrt()
    return p - 1e-2 * u / max(1.0, float(u.pow(2).mean().sqrt())), vr2, vc2


def lion(p, g, m):
    """google/automl, lion_pytorch.py."""
    step = torch.sign(m * 0.9 + g * 0.1)
    return p * (1 - 1e-4 * 0.1) - 1e-4 * step, m * 0.99 + g * 0.01


def clip(g):
    p = torch.nn.Parameter(torch.zeros_like(g))
    p.grad = g
    norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
    return p.grad, norm


def own_clip(g):
    norm = torch.sqrt((g * g).sum())
    return g * torch.clamp(1 / (norm + 1e-6), max=1), norm


def int4(x, q, scale, zero):
    i = torch.arange(x.shape[1])
    codes = (q[:, i // 2] >> (4 * (i % 2))) & 15
    return x @ ((codes - zero[:, i // 4]) * scale[:, i // 4]).T


def fp8_blocks(x, w, sx, sw):
    n, o, blocks = len(x), len(w), sx.shape[1]
    parts = torch.einsum("npj,opj->pno", x.view(n, blocks, 4), w.view(o, blocks, 4))
    scale = sx.T[:, :, None] * sw.T.repeat_interleave(4, 1)[:, None]
    return (parts * scale).sum(0)


def quantize_rows(x):
    import ml_dtypes  # as numpy's types
    scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448
    codes = (x.float() / scale).numpy().astype(ml_dtypes.float8_e4m3fn)
    return torch.tensor(codes.astype("float32")), scale[:, 0]



def plain_gelu(x):
    return x * 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))


def gelu_backward(dy, x):
    phi = torch.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return dy * (0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * phi)


def op(label, function):
    """A function of torch, and the same with everything in fp32 and one rounding."""
    def call(**x):
        return function(*x.values())
    return [("." + label, call), ("in fp32", in_fp32(call))]


def own(function, label="in fp32"):
    return [(label, in_fp32(function))]


def adam8(q, p, g, cm, cv, am, av):
    """bitsandbytes' rule at its first step, on one block."""
    m = 0.9 * (q[0, cm] * am[0]) + (1 - 0.9) * g
    v = 0.999 * (q[1, cv] * av[0]).abs() + (1 - 0.999) * g * g
    c1, c2 = 1 - 0.9, 1 - 0.999
    p2 = p - 1e-3 * math.sqrt(c2) / c1 * (m / (v.sqrt() + 1e-8 * math.sqrt(c2)))
    am2, av2 = torch.zeros_like(am), torch.zeros_like(av)
    am2[0], av2[0] = m.abs().max(), v.max()
    dm, dv = (((x / largest[0])[:, None] > (table[:-1] + table[1:]) / 2).sum(-1)
              for x, largest, table in ((m, am2, q[0]), (v, av2, q[1])))
    return p2, kept(am2), kept(av2), kept(dm), kept(dv)


IMPLEMENTATIONS = {
    "linear": op("nn.functional.linear", F.linear),
    "matmul": op("mm", torch.mm),
    "bmm": op("bmm", torch.bmm),
    "addmm": op("addmm", torch.addmm),
    "softmax": op("softmax", lambda x: torch.softmax(x, -1)),
    "softmax_backward": op("_softmax_backward_data", lambda dy, y:
                           aten._softmax_backward_data(dy, y, 1, dy.dtype)),
    "log_softmax": op("log_softmax", lambda x: torch.log_softmax(x, -1)),
    "log_softmax_backward": op("_log_softmax_backward_data", lambda dy, y:
                               aten._log_softmax_backward_data(dy, y, 1, dy.dtype)),
    "logsumexp": op("logsumexp", lambda x: torch.logsumexp(x, -1)),
    "layer_norm": op("nn.functional.layer_norm", lambda x, w, b:
                     F.layer_norm(x, w.shape, w, b)),
    "layer_norm_folded": op("nn.functional.layer_norm", lambda x, w, b:
                            F.layer_norm(x, w.shape, w, b)),
    "layer_norm_backward": [(".native_layer_norm_backward", layer_norm_backward),
                            *own(own_layer_norm_backward)],
    "add_layer_norm": [("+ and .nn.functional.layer_norm", lambda x, r, w, b: (
        F.layer_norm(x + r, w.shape, w, b), x + r))],
    "rms_norm": own(lambda x, w: x * rms(x) * w),
    "rms_norm_llama": [("as transformers", llama)],
    "rms_norm_gemma": [("as transformers", gemma)],
    "rms_norm_t5": [("as transformers", t5)],
    "rms_norm_backward": own(rms_backward),
    "group_norm": op("nn.functional.group_norm", lambda x, w, b: F.group_norm(x, 2, w, b)),
    "instance_norm": op("nn.functional.instance_norm", lambda x, w, b:
                        F.instance_norm(x, weight=w, bias=b)),
    "batch_norm": [(".nn.functional.batch_norm", batch_norm), *own(own_batch_norm)],
    "batch_norm_centred": own(lambda x, w, b, rm, rv:
                                        (x - rm) * torch.rsqrt(rv + 1e-5) * w + b),
    "batch_norm_inference": op("nn.functional.batch_norm", lambda x, w, b, rm, rv:
                               F.batch_norm(x, rm, rv, w, b)),
    "gelu": op("nn.functional.gelu", F.gelu) + own(plain_gelu, "in fp32, with torch.erf"),
    "gelu_tanh": op("nn.functional.gelu", lambda x: F.gelu(x, approximate="tanh")),
    "gelu_quick": own(lambda x: x * torch.sigmoid(1.702 * x)),
    "gelu_backward": op("gelu_backward", lambda dy, x: aten.gelu_backward(dy, x)) + own(
        gelu_backward, "in fp32, with torch.erf"),
    "silu": op("nn.functional.silu", F.silu),
    "silu_backward": op("silu_backward", lambda dy, x: aten.silu_backward(dy, x)),
    "sigmoid": op("sigmoid", torch.sigmoid),
    "relu2": op("relu and square", lambda x: torch.relu(x).square()),
    "softplus": op("nn.functional.softplus", F.softplus),
    "elu": op("nn.functional.elu", F.elu) + own(
        lambda x: torch.where(x > 0, x, torch.expm1(x)), "in fp32, with expm1"),
    "softcap": own(lambda x: 30 * torch.tanh(x / 30)),
    "swiglu": own(lambda gate, up: F.silu(gate) * up),
    "swiglu_stored": [(".nn.functional.silu and *", lambda gate, up: F.silu(gate) * up),
                      *own(lambda gate, up: F.silu(gate) * up)],
    "geglu": own(lambda gate, up: F.gelu(gate) * up, "in fp32, .nn.functional.gelu") + own(
        lambda gate, up: plain_gelu(gate) * up, "in fp32, with torch.erf"),
    "rotary_halves": own(lambda x, co, si: x * co + rotate_half(x) * si),
    "rotary_pairs": own(rotary_pairs),
    "rotary_table": [("in fp32", lambda pos, inv: tuple(
        f(pos.float()[:, None] * inv) for f in (torch.cos, torch.sin)))],
    "rotary_table_bf16": [("in bf16", lambda pos, inv: tuple(
        f((pos.bfloat16().float()[:, None] * inv.float()).bfloat16().float()).to(inv.dtype)
        for f in (torch.cos, torch.sin)))],
    "attention": [("in fp32, tiles of 8", online), ("in fp32", lambda q, k, v: (
        lambda y, lse: (y.to(q.dtype), lse))(*weigh(scores(q, k), v, q.dtype)))],
    "attention_unfused": [("as transformers", eager)],
    "attention_window": [("in fp32", attention(lambda q, k, v: (
        masked(scores(q, k, False), 4), v, None)))],
    "attention_grouped": [("in fp32", attention(grouped))],
    "attention_softcap": [("in fp32", attention(lambda q, k, v: (
        masked(50 * torch.tanh(scores(q, k, False) / 50)), v, None)))],
    "attention_alibi": [("in fp32", attention(alibi))],
    "attention_sinks": [("in fp32", attention(lambda q, k, v, sink: (
        scores(q, k), v, sink.float()[:, None, None])))],
    "attention_mask": [("in fp32", attention(lambda q, k, v, mask: (
        scores(q, k, False) + mask.float(), v, None)))],
    "attention_backward": [("in fp32", attention_backward)],
    "attention_merge": own(merge),
    "linear_attention": own(linear_attention),
    "cross_entropy": [(".nn.functional.cross_entropy", cross_entropy()),
                      ("the same of fp32", wide_cross_entropy())],
    "cross_entropy_rows": [(".nn.functional.cross_entropy", cross_entropy(reduction="none")),
                           ("the same of fp32", wide_cross_entropy(reduction="none"))],
    "cross_entropy_smoothing": [
        (".nn.functional.cross_entropy", cross_entropy(label_smoothing=0.1)),
        ("the same of fp32", wide_cross_entropy(label_smoothing=0.1))],
    "cross_entropy_weighted": [(".nn.functional.cross_entropy", cross_entropy()),
                               ("the same of fp32", wide_cross_entropy())],
    "cross_entropy_z_loss": own(z_loss),
    "cross_entropy_backward": [(".nn.functional.cross_entropy", cross_entropy_gradient),
                               ("the same of fp32", wide_cross_entropy_gradient)],
    "linear_cross_entropy": own(lambda x, w, target: kept(F.cross_entropy(x @ w.T, target))),
    "linear_cross_entropy_stored": [("linear, and the loss of fp32", lambda x, w, target:
                                     F.cross_entropy(F.linear(x, w).float(), target))],
    "bce_with_logits": op("nn.functional.bce_with_logits", lambda x, target:
                          F.binary_cross_entropy_with_logits(x, target, reduction="none")) + own(
                              lambda x, target: torch.relu(x) - x * target
                              + torch.log1p(torch.exp(-x.abs())), "in fp32, with log1p"),
    "kl_div": op("nn.functional.kl_div", lambda x, target:
                 F.kl_div(x, target, reduction="batchmean")),
    "huber": op("nn.functional.huber_loss", F.huber_loss),
    "smooth_l1": op("nn.functional.smooth_l1_loss", F.smooth_l1_loss),
    "mse": op("nn.functional.mse_loss", F.mse_loss),
    "cosine_similarity": op("nn.functional.cosine_similarity", lambda x, z:
                            F.cosine_similarity(x, z, dim=-1)),
    "info_nce": own(info_nce),
    "dpo_loss": own(dpo),
    "embedding": [(".nn.functional.embedding", lambda w, id: F.embedding(id, w))],
    "embedding_backward": op("embedding_dense_backward", lambda dy, id:
                             aten.embedding_dense_backward(dy, id, 16, -1, False)),
    "dropout": own(lambda x, keep: x * (1 / (1 - 0.1)) * keep),
    "l2_normalize": op("nn.functional.normalize", lambda x: F.normalize(x, dim=-1)),
    "weight_norm": op("_weight_norm", lambda v, g: torch._weight_norm(v, g[:, None], 0)),
    "router_softmax": [(".softmax, .topk", router_softmax),
                       (".softmax, .sort(stable=True)", lambda z: router_softmax(z, True))],
    "router_sigmoid": [(".sigmoid, .topk", router_sigmoid)],
    "router_balance_loss": own(balance),
    "moe_combine": [("in fp32", lambda x, weight, row: (
        x.float()[row] * weight.float()[..., None]).sum(1).to(x.dtype))],
    "conv1d": op("nn.functional.conv1d", lambda x, w, b: F.conv1d(x, w, b, padding=1)),
    "conv1d_causal": own(causal_conv),
    "conv2d": op("nn.functional.conv2d", lambda x, f, b: F.conv2d(x, f, b, padding=1)),
    "max_pool2d": op("nn.functional.max_pool2d", lambda x: F.max_pool2d(x, 2)),
    "avg_pool2d": op("nn.functional.avg_pool2d", lambda x: F.avg_pool2d(x, 2)),
    "interpolate_nearest": op("nn.functional.interpolate", lambda x:
                              F.interpolate(x, scale_factor=2)),
    "interpolate_linear": op("nn.functional.interpolate", lambda x:
                             F.interpolate(x, size=7, mode="linear")),
    "cumsum": op("cumsum", lambda x: torch.cumsum(x, -1)),
    "ssm_scan": own(ssm),
    "gated_scan": own(gated),
    "newton_schulz": own(schulz_step),
    "muon": own(muon),
    "sgd": [(".optim.SGD", optimizer(torch.optim.SGD, {"buf": "momentum_buffer"}, lr=0.1,
                                     momentum=0.9, weight_decay=5e-4)), *own(own_sgd)],
    "adamw": [(".optim.AdamW", optimizer(torch.optim.AdamW, {"m": "exp_avg", "v": "exp_avg_sq"})),
              *own(own_adamw)],
    "adam_l2": [(".optim.Adam", lambda p, w, m, v: optimizer(
        torch.optim.Adam, {"m": "exp_avg", "v": "exp_avg_sq"}, weight_decay=0.01)(
            p=p, g=w, m=m, v=v)), *own(own_adam)],
    "adafactor": own(adafactor),
    "adam8": own(adam8),
    "lion": own(lion),
    "ema": own(lambda e, p: torch.lerp(e, p, 1 - 0.999)),
    "clip_grad_norm": [(".nn.utils.clip_grad_norm_", clip), *own(own_clip)],
    "linear_int8": own(lambda x, q, scale: x @ q.T.float() * scale),
    "linear_int8_dynamic": own(lambda a, q, sa, sq: (a @ q.T).float() * sa[:, None] * sq),
    "linear_int4": own(int4),
    "linear_fp8": own(lambda x, w, sx, sw: x @ w.T * sx * sw),
    "linear_fp8_blocks": own(fp8_blocks),
    "quantize_rows": [("in fp32, ml_dtypes", quantize_rows)],
}
