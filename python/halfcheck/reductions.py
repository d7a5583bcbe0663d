"""Texts of torch's operators that add up or choose: reductions, norms, losses, products."""

import math

from .elementwise import compare, plus, times, unless, where
from .graphs import ATOM, PRODUCT, SUM, UNARY, Node, Untold
from .views import arange, reshape, squeeze, swap, unsqueeze


def _rank(x, dims, keep=False):
    """All dimensions where none is named."""
    dims = [dims] if isinstance(dims, int) else dims
    return (list(range(len(x.axes))) if not dims else list(dims)), keep


def _reduce(word, template="{}", hint="l"):
    def build(g, x, dims=None, keepdim=False, dtype=None, **_):
        dims, keep = _rank(x, dims, keepdim)
        mask = getattr(x, "mask", None)
        where = mask and (lambda indices: g.text(mask, indices))
        if not x.axes:
            return x
        return g.over(word, x, dims, keep, template, hint, where=where)
    return build


_mean, _sum = _reduce("mean", hint="a"), _reduce("sum")


def _over_count(g, total, x, dims, correction):
    """A sum of squares divided by a number of terms less `correction`."""
    text = " * ".join(g.size_text(g.size(x.axes[d])) for d in dims if x.axes[d]) or "1"
    by = Node([], lambda _: (f"{text} - {correction}", SUM))
    return g.each("{0} / {1}", total, by, binds=PRODUCT, needs=[PRODUCT, UNARY], hint="v")


def _var(g, x, dims=None, unbiased=None, correction=1, keepdim=False):
    if isinstance(dims, bool):
        dims, unbiased = None, dims
    correction = correction if unbiased is None else int(unbiased)
    dims, _ = _rank(x, dims)
    mu = g.over("mean", x, dims, True, hint="mu")
    off = g.each("{0} - {1}", x, mu, binds=SUM, needs=[SUM, PRODUCT])
    if correction == 0:
        return g.over("mean", off, dims, keepdim, "{}^2", "v")
    return _over_count(g, g.over("sum", off, dims, keepdim, "{}^2", "v"), x, dims, correction)


def _var_mean(g, x, dims=None, *rest, keepdim=False, **more):
    return (_var(g, x, dims, *rest, keepdim=keepdim, **more),
            _mean(g, x, None if isinstance(dims, bool) else dims, keepdim))


def _std(g, *rest, **more):
    return g.each("sqrt({0})", _var(g, *rest, **more))


def _norm(g, x, p=2, dims=None, keepdim=False, **_):
    dims, _ = _rank(x, dims)
    if p in (None, 2):
        return g.each("sqrt({0})", g.over("sum", x, dims, keepdim, "{}^2"))
    if p == 1:
        return g.over("sum", g.each("abs({0})", x), dims, keepdim)
    raise Untold(f"a norm with p = {p}")


def extreme(word):
    def build(g, x, dims=None, keepdim=False):
        if isinstance(dims, Node):
            return g.each(f"{word}({{0}}, {{1}})", x, dims)
        return g.over(word, x, _rank(x, dims)[0], keepdim, hint="m")
    return build


def extreme_dim(word):
    def build(g, x, dim, keepdim=False):
        return g.over(word, x, [dim], keepdim, hint="m"), None
    return build


def _exponentials(g, x, dim):
    if hasattr(x, "kept"):
        inner, gone = x.kept
        there = g.each("{1}", gone, inner, needs=[None])
        where = g.each("{0}", gone, inner, truth="logic")
        m = g.over("max", there, [dim], True, hint="m", shift=True,
                   where=lambda indices: unless(g.text(where, indices)))
        e = g.each("select({0}, 0, exp({1} - {2}))", gone, inner, m,
                   needs=[None, SUM, PRODUCT], hint="e")
        return m, e
    m = g.over("max", x, [dim], True, hint="m", shift=True)
    e = g.each("exp({0} - {1})", x, m, needs=[SUM, PRODUCT], hint="e")
    return m, e


def _softmax(g, x, dim, *_):
    _, e = _exponentials(g, x, dim)
    return g.each("{0} / {1}", e, g.over("sum", e, [dim], True), binds=PRODUCT,
                  needs=[PRODUCT, UNARY], hint="p")


def _log_softmax(g, x, dim, *_):
    m, e = _exponentials(g, x, dim)
    return g.each("{0} - {1} - log({2})", x, m, g.over("sum", e, [dim], True), binds=SUM,
                  needs=[SUM, PRODUCT])


def _logsumexp(g, x, dims, keepdim=False):
    dim, _ = _rank(x, dims)
    m, e = _exponentials(g, x, dim[0])
    if len(dim) > 1:
        raise Untold("logsumexp over several dimensions")
    total = g.each("{0} + log({1})", m, g.over("sum", e, dim, True), binds=SUM,
                   needs=[SUM, SUM])
    return total if keepdim else squeeze(g, total, dim[0])


def _layer_norm(g, x, shape, weight, bias, eps):
    return _normed(g, x, list(range(len(x.axes) - len(shape), len(x.axes))), weight, bias, eps)


def _normed(g, x, dims, weight, bias, eps):
    mu = g.over("mean", x, dims, True, hint="mu")
    off = g.each("{0} - {1}", x, mu, binds=SUM, needs=[SUM, PRODUCT])
    v = g.over("mean", off, dims, True, "{}^2", "v")
    y = g.each("({0} - {1}) / sqrt({2} + {3})", x, mu, v, eps, binds=PRODUCT,
               needs=[SUM, PRODUCT, SUM, PRODUCT])
    if weight is not None:
        y = times(g, y, weight)
    return (y if bias is None else plus("{0} + {1}")(g, y, bias)), None, None


def _group_norm(g, x, weight, bias, n, c, rest, groups, eps):
    shape = [g.size(axis) for axis in x.axes]
    split = reshape(g, x, [n, groups, c // groups, rest])
    y = reshape(g, _normed(g, split, [2, 3], None, None, eps)[0], shape)
    for each, how in ((weight, times), (bias, plus("{0} + {1}"))):
        if each is not None:
            y = how(g, y, reshape(g, each, [c] + [1] * (len(shape) - 2)))
    return y, None, None


def _nll(g, logp, target, weight, reduction, ignore):
    if weight is not None:
        raise Untold("nll_loss with weights")
    logp.used()
    target.used().used()
    rows = target.axes

    def at(indices):
        place = g.text(target, indices)
        own = g.text(logp, [*indices, place], UNARY)
        return f"select({place} != {ignore}, -{own}, 0)", ATOM
    a = Node(rows, at, hint="a")
    if reduction == 0:
        return a, None
    total = g.over("sum", a, range(len(rows)), hint="total")
    if reduction == 2:
        return total, None
    counts = g.each("{0} != {1}", target, ignore, binds=SUM, truth=True, needs=[PRODUCT])
    count = g.over("count", counts, range(len(rows)), hint="k")
    return g.each("{0} / {1}", total, count, binds=PRODUCT, needs=[PRODUCT, UNARY]), None


def _reduced(g, x, reduction):
    return x if reduction == 0 else (_mean if reduction == 1 else _sum)(g, x)


def _loss(template, binds=ATOM):
    def build(g, x, target, reduction=1, *numbers):
        e = g.each("{0} - {1}", x, target, binds=SUM, needs=[SUM, PRODUCT])
        return _reduced(g, g.each(template, e, *numbers, binds=binds, needs=[ATOM] * 3), reduction)
    return build


def _mse(g, x, target, reduction=1):
    return _loss("{0}^2", UNARY)(g, x, target, reduction)


def _bce(g, x, target, weight=None, pos_weight=None, reduction=1):
    if weight is not None or pos_weight is not None:
        raise Untold("binary_cross_entropy_with_logits with weights")
    return _reduced(g, g.each("max({0}, 0) - {0} * {1} + log1p(exp(-abs({0})))", x, target,
                              binds=SUM, needs=[UNARY, UNARY]), reduction)


# products

def _addmm(g, c, a, b, beta=1, alpha=1):
    y = g.product(a, b)
    y = y if alpha == 1 else times(g, g.number(alpha), y)
    c = c if beta == 1 else times(g, g.number(beta), c)
    return plus("{0} + {1}")(g, y, c)


def _mv(g, a, x):
    return squeeze(g, g.product(a, unsqueeze(g, x, 1)), 1)


def _dot(g, a, b):
    return _sum(g, times(g, a, b))


def _attention(g, q, k, v, mask=None, dropout=0.0, causal=False, scale=None, **_):
    if dropout:
        raise Untold("attention with dropout")
    scale = g.size(q.axes[-1])**-0.5 if scale is None else scale
    s = times(g, g.product(q, swap(g, k, -1, -2)), g.number(scale))
    if causal:
        t, u = (arange(g, g.size(x.axes[-2])) for x in (q, k))
        seen = compare("<=")(g, u, unsqueeze(g, t, 1))
        s = where(g, seen, s, g.number(-math.inf))
    if mask is not None:
        s = where(g, mask, s, g.number(-math.inf)) if mask.truth else plus("{0} + {1}")(g, s, mask)
    return g.product(_softmax(g, s, -1), v)


def _old(arguments):
    """Of torch 1.13: q, k, v, mask, dropout, need_weights, causal."""
    return [*arguments[:5], *arguments[6:7]]


OPERATORS = {
    "sum": _sum, "mean": _mean, "prod": lambda g, x, d=None, keepdim=False, **_: g.over(
        "prod", x, _rank(x, d)[0], keepdim, hint="product"),
    "amax": extreme("max"), "amin": extreme("min"),
    "any": _reduce("any"), "all": _reduce("all"), "var": _var, "var_mean": _var_mean, "std": _std,
    "norm": _norm, "linalg_vector_norm": _norm, "logsumexp": _logsumexp, "_softmax": _softmax,
    "_log_softmax": _log_softmax, "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm, "nll_loss_forward": _nll, "mse_loss": _mse,
    "huber_loss": lambda g, x, y, reduction=1, delta=1.0: _loss(
        "select(abs({0}) < {1}, 0.5 * {0}^2, {1} * (abs({0}) - 0.5 * {1}))")(
            g, x, y, reduction, delta),
    "smooth_l1_loss": lambda g, x, y, reduction=1, beta=1.0: _loss(
        "select(abs({0}) < {1}, 0.5 * {0}^2 / {1}, abs({0}) - 0.5 * {1})")(
            g, x, y, reduction, beta),
    "binary_cross_entropy_with_logits": _bce, "mm": lambda g, a, b: g.product(a, b),
    "bmm": lambda g, a, b: g.product(a, b), "addmm": _addmm, "baddbmm": _addmm, "mv": _mv,
    "dot": _dot, "_scaled_dot_product_flash_attention_for_cpu": lambda g, *a, **k: (
        _attention(g, *a[:3], k.pop("attn_mask", None), *a[3:], **k), None),
    "_scaled_dot_product_attention": lambda g, *a, **k: (_attention(g, *_old(a), **k), None),
}
