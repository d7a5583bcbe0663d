"""AdamW as one expression in double precision, rounded when it is stored."""

import torch


def kernel(w, g, m, v, found_inf, lr, beta1, beta2, eps, weight_decay, step):
    if found_inf is not None and found_inf.item() != 0:
        return w, m, v
    grad = g.double()
    new_m = torch.lerp(grad, m.double(), beta1)
    new_v = torch.lerp(grad * grad, v.double(), beta2)
    hat_m = new_m / (1 - beta1**step)
    hat_v = new_v / (1 - beta2**step)
    new_w = w.double() * (1 - lr * weight_decay) - lr * hat_m / (hat_v.sqrt() + eps)
    return new_w.to(w.dtype), new_m.to(m.dtype), new_v.to(v.dtype)
