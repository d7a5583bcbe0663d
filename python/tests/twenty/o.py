"""AdamW for bf16 parameters, fp32 inside.

Source: "AdamW16 = partial(torch.optim.Adam, ...)" in a thread of forums.fast.ai.
"""


def kernel(w, g, m, v, found_inf, lr, beta1, beta2, eps, weight_decay, step):
    if found_inf is not None and found_inf.item() != 0:
        return w, m, v
    p = w.float()
    grad = g.float() + weight_decay * p
    new_m = beta1 * m.float() + (1 - beta1) * grad
    new_v = beta2 * v.float() + (1 - beta2) * grad * grad
    denominator = (new_v / (1 - beta2**step)).sqrt() + eps
    p = p - lr / (1 - beta1**step) * new_m / denominator
    return p.to(w.dtype), new_m.to(m.dtype), new_v.to(v.dtype)
