"""Attention in one operator, forward and backward: some rows of some heads."""

import torch

from .. import slices
from ..slices import Question

# Each query i has a place among the keys: under a causal mask it sees those up to it. Weights are
# stored before they meet v, and their sum is not of the stored ones, as in flash-attention 2.
FORWARD = """op attention_rows(q[h, i, d], k[h, u, d], v[h, u, e], place[i]: index{mask};
                  scale = 1.0)
s[h, i, u] = sum(d: q[h,i,d] * k[h,u,d]) * scale{added} where u <= place[i]{seen}
m[h, i]    = shift max(u: s[h,i,u])
p[h, i, u] = store exp(s[h,i,u] - m[h,i])
l[h, i]    = sum(u: exp(s[h,i,u] - m[h,i]))
y[h, i, e] = sum(u: p[h,i,u] * v[h,u,e]) / l[h,i]
lse[h, i]  = m[h,i] + log(l[h,i])
return y, lse
"""

_WEIGHTS = """s[h, i, u]  = sum(d: q[h,i,d] * k[h,u,d]) * scale{added} where {when}{seen}
p[h, i, u]  = exp(s[h,i,u] - lse[h,i])
a[h, i]     = sum(e: dy[h,i,e] * o[h,i,e])
ds[h, i, u] = store p[h,i,u] * (sum(e: dy[h,i,e] * v[h,u,e]) - a[h,i])
"""

QUERIES = """op attention_backward_queries(q[h, i, d], k[h, u, d], v[h, u, e], o[h, i, e], lse[h, i],
                              dy[h, i, e], place[i]: index{mask}; scale = 1.0)
""" + _WEIGHTS + """dq[h, i, d] = scale * sum(u: ds[h,i,u] * k[h,u,d])
return dq
"""

KEYS = """op attention_backward_keys(q[h, i, d], k[h, u, d], v[h, u, e], o[h, i, e], lse[h, i],
                           dy[h, i, e], place[u]: index{mask}; scale = 1.0)
""" + _WEIGHTS + """w[h, i, u]  = store p[h,i,u]
dk[h, u, d] = scale * sum(i: ds[h,i,u] * q[h,i,d])
dv[h, u, e] = sum(i: w[h,i,u] * dy[h,i,e])
return dk, dv
"""

_MOST = 1 << 16  # multiplications of one call, unless one row has more


def _text(text, mask, when="u <= place[i]"):
    """The text with a mask that is added to the scores, or without."""
    return text.format(when=when, **(
        {"mask": ", mask[h, i, u]", "added": " + mask[h,i,u]", "seen": " and mask[h,i,u] != -inf"}
        if mask is not None else {"mask": "", "added": "", "seen": ""}))


class _Heads:
    """Some heads of a call: q, k and v of these, and the mask of them."""

    def __init__(self, call):
        args = call.args
        q, k, v = (args[name] for name in ("query", "key", "value"))
        self.times, self.keys = q.shape[-2], k.shape[-2]
        count = q.shape[0] * q.shape[1]
        self.cost = self.keys * (q.shape[-1] + v.shape[-1])
        call.elements(self.cost)
        self.chosen = torch.tensor(call.places(count, 2))
        self.batch, self.head = self.chosen // q.shape[1], self.chosen % q.shape[1]
        self.shared = q.shape[1] // k.shape[1]  # grouped heads
        self.q = q[self.batch, self.head]
        self.k, self.v = (t[self.batch, self.head // self.shared] for t in (k, v))
        self.causal = args["is_causal"]
        self.options = {"scale": float(args["scale"] if args.get("scale") is not None
                                       else q.shape[-1] ** -0.5)}
        self.mask = args.get("attn_mask")
        if self.mask is not None:
            self.mask = self.mask.expand(q.shape[0], q.shape[1], self.times, self.keys)[
                self.batch, self.head]

    def of(self, tensor):
        return tensor[self.batch, self.head]

    def rows(self, call, count, others):
        """Some of so many rows, each of which meets all of the others."""
        most = max(1, _MOST // max(1, len(self.chosen) * others * (self.q.shape[-1] +
                                                                   self.v.shape[-1])))
        return torch.tensor(call.places(count, min(8, most)))

    def last(self, rows):
        """The last key that each query sees: a causal mask is aligned to the top left."""
        return rows if self.causal else torch.full_like(rows, self.keys)

    def masked(self, *index):
        return {} if self.mask is None else {"mask": self.mask[index]}


def forward(call):
    heads = _Heads(call)
    rows = heads.rows(call, heads.times, heads.keys)
    if heads.mask is not None:  # a row that sees nothing has no definition
        rows = rows[(heads.mask[:, rows] != -torch.inf).any(-1).all(0)]
        if not len(rows):
            return None
    y, lse = call.results[:2]
    inputs = {"q": heads.q[:, rows], "k": heads.k, "v": heads.v, "place": heads.last(rows),
              **heads.masked(slice(None), rows)}
    return [Question(_text(FORWARD, heads.mask), inputs,
                     {"y": heads.of(y)[:, rows], "lse": heads.of(lse)[:, rows]}, heads.options)]


def backward(call):
    heads, args = _Heads(call), call.args
    if heads.shared > 1:
        return None
    dq, dk, dv = call.results[:3]
    o, dy, lse = (heads.of(args[name]) for name in ("out", "grad_out", "logsumexp"))
    rows = heads.rows(call, heads.times, heads.keys)
    columns = heads.rows(call, heads.keys, heads.times)
    return [
        Question(_text(QUERIES, heads.mask),
                 {"q": heads.q[:, rows], "k": heads.k, "v": heads.v, "o": o[:, rows],
                  "lse": lse[:, rows], "dy": dy[:, rows], "place": heads.last(rows),
                  **heads.masked(slice(None), rows)},
                 {"dq": heads.of(dq)[:, rows]}, heads.options),
        # A key meets the queries from its own place on.
        Question(_text(KEYS, heads.mask, "place[u] <= i"),
                 {"q": heads.q, "k": heads.k[:, columns], "v": heads.v[:, columns], "o": o,
                  "lse": lse, "dy": dy,
                  "place": columns if heads.causal else torch.zeros_like(columns),
                  **heads.masked(slice(None), slice(None), columns)},
                 {"dk": heads.of(dk)[:, columns], "dv": heads.of(dv)[:, columns]},
                 heads.options)]


STRUCTURED = {
    "_scaled_dot_product_flash_attention_for_cpu": forward,
    "_scaled_dot_product_flash_attention_for_cpu_backward": backward,
}
