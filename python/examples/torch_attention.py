"""The two ways of PyTorch's attention on a CPU in bf16, held to one definition of its gradients.

    python3 python/examples/torch_attention.py

flash and math have q, k, v and dy in common, and nothing else: the one keeps o in bf16 and the
logarithms of sums, the other the weights in fp32. So the definition begins at q, k, v and dy. Each
number that either of them may store in 16 bits on the way is one that may be stored (`store?`).
"""

import sys

import halfcheck
import torch
import torch.nn.functional as F

GRADIENTS = """op attention_gradients(q[h, t, d], k[h, u, d], v[h, u, e], dy[h, t, e]; scale = 1/sqrt(D))
s[h,t,u]  = sum(d: q[h,t,d] * k[h,u,d]) * scale
m[h,t]    = shift max(u: s[h,t,u])
z[h,t,u]  = exp(s[h,t,u] - m[h,t])
r[h,t,u]  = store? z[h,t,u]
l[h,t]    = sum(u: z[h,t,u])
o[h,t,e]  = store? sum(u: r[h,t,u] * v[h,u,e]) / l[h,t]
p[h,t,u]  = z[h,t,u] / l[h,t]
a[h,t]    = sum(e: dy[h,t,e] * o[h,t,e])
ds[h,t,u] = store? p[h,t,u] * (sum(e: dy[h,t,e] * v[h,u,e]) - a[h,t])
w[h,t,u]  = store? p[h,t,u]
dq[h,t,d] = scale * sum(u: ds[h,t,u] * k[h,u,d])
dk[h,u,d] = scale * sum(t: ds[h,t,u] * q[h,t,d])
dv[h,u,e] = sum(t: w[h,t,u] * dy[h,t,e])
return dq, dk, dv
"""

# The math path takes the gradient of a softmax by itself, whose sum is that of the weights and what
# they are multiplied with. Where such a product of dy and v is beyond fp32, so is this sum, and all
# gradients of the row with it; the sum above is not.
BY_WEIGHTS = "".join(line + "\n" for line in GRADIENTS.splitlines() if line[:2] not in ("r[", "o["))
BY_WEIGHTS = BY_WEIGHTS.replace("sum(e: dy[h,t,e] * o[h,t,e])",
                                "sum(u: p[h,t,u] * sum(e: dy[h,t,e] * v[h,u,e]))")


def inputs(queries=256, keys=8, width=16):
    """Inputs whose weights are 1/8 to the bit, as q is 0, and whose dv are sums of 256 multiples of
    1/8: no right order rounds anything in fp32. The math path multiplies q and k by the root of the
    scale each; of a width of 16 that is 1/2."""
    draw = torch.Generator().manual_seed(1)
    k = torch.randn((1, keys, width), generator=draw)
    v = torch.randint(-3, 4, (1, keys, width), generator=draw)
    dy = torch.randint(1, 8, (1, queries, width), generator=draw)
    return {"q": torch.zeros((1, queries, width)).bfloat16(), "k": k.bfloat16(),
            "v": v.bfloat16(), "dy": dy.bfloat16()}


def by_torch(backend, q, k, v, dy):
    """The gradients that autograd gives of this way of PyTorch's attention."""
    from torch.nn.attention import sdpa_kernel
    q, k, v = (x.clone()[None].requires_grad_() for x in (q, k, v))
    with sdpa_kernel(backend):
        y = F.scaled_dot_product_attention(q, k, v)
    y.backward(dy[None])
    return {"dq": q.grad[0], "dk": k.grad[0], "dv": v.grad[0]}


def verdict(gradients):
    """The verdict on the gradients of a function of q, k, v and dy."""
    given = inputs()
    return halfcheck.judge(define=GRADIENTS, inputs=given, outputs=gradients(**given))


def ways():
    """The two ways by name; none where this PyTorch has not both of them on a CPU."""
    if not hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu"):
        return {}
    from torch.nn.attention import SDPBackend
    return {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}


def main():
    """Judges both ways."""
    if not ways():
        sys.exit(f"PyTorch {torch.__version__} has no flash attention on a CPU")
    for name, backend in ways().items():
        print(f"{name}: {verdict(lambda backend=backend, **given: by_torch(backend, **given))}\n")


if __name__ == "__main__":
    main()
