"""Adam in fp32 with a step counter of its own."""

import torch


def kernel(w, g, m, v, found_inf, lr, beta1, beta2, eps, weight_decay, step):
    if found_inf is not None and found_inf.item() != 0:
        return w, m, v
    step += 1  # this step
    p, grad = w.float(), g.float()
    if weight_decay != 0:
        grad = grad + weight_decay * p
    new_m = torch.lerp(m.float(), grad, 1 - beta1)
    new_v = beta2 * v.float() + (1 - beta2) * grad * grad
    correction = (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    p = p - lr * correction * new_m / (new_v.sqrt() + eps * (1 - beta2**step) ** 0.5)
    return p.to(w.dtype), new_m.to(m.dtype), new_v.to(v.dtype)
