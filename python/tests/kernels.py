"""AdamW in numpy, right in two orders and wrong in three ways."""

import ml_dtypes
import numpy as np

np.seterr(all="ignore")  # infinities and NaN are among the inputs

BF16 = ml_dtypes.bfloat16
F32 = np.float32


def loop(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """As torch's loop over tensors: each line rounds in fp32."""
    p, g = w.astype(F32), g.astype(F32)
    p = p * F32(1 - lr * weight_decay)
    new_m = m.astype(F32) + F32(1 - beta1) * (g - m.astype(F32))
    new_v = v.astype(F32) * F32(beta2) + F32(1 - beta2) * g * g
    root = np.sqrt(new_v) / F32((1 - beta2 ** step) ** 0.5) + F32(eps)
    p = p - F32(lr / (1 - beta1 ** step)) * (new_m / root)
    return p.astype(w.dtype), new_m.astype(m.dtype), new_v.astype(v.dtype)


def fused(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """As a fused kernel may do it: products and sums in fp64, rounded at the end."""
    p, g = w.astype(np.float64), g.astype(np.float64)
    new_m = beta1 * m.astype(np.float64) + (1 - beta1) * g
    new_v = beta2 * v.astype(np.float64) + (1 - beta2) * g * g
    hat_m, hat_v = new_m / (1 - beta1 ** step), new_v / (1 - beta2 ** step)
    p = p * (1 - lr * weight_decay) - lr * hat_m / (np.sqrt(hat_v) + eps)
    return p.astype(F32).astype(w.dtype), new_m.astype(F32).astype(m.dtype), \
        new_v.astype(F32).astype(v.dtype)


def eps_inside_the_root(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """eps stands where it is worth less or more."""
    _, new_m, new_v = loop(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step)
    wide = new_v.astype(F32) / F32(1 - beta2 ** step)
    p = w.astype(F32) * F32(1 - lr * weight_decay)
    p = p - F32(lr / (1 - beta1 ** step)) * new_m.astype(F32) / np.sqrt(wide + F32(eps))
    return p.astype(w.dtype), new_m, new_v


def no_bias_correction(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """Every step is as step infinity."""
    del step
    return loop(w, g, m, v, lr, beta1, beta2, eps, weight_decay, 1 << 20)


def bf16_inside(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """Each result of the arithmetic is rounded to bf16, as by tensors that nobody upcast."""
    def cut(x):
        return np.asarray(x, F32).astype(BF16).astype(F32)
    p = cut(w.astype(F32) * F32(1 - lr * weight_decay))
    new_m = cut(cut(F32(beta1) * m.astype(F32)) + cut(F32(1 - beta1) * g.astype(F32)))
    new_v = cut(cut(F32(beta2) * v.astype(F32)) + cut(F32(1 - beta2) * cut(g.astype(F32) ** 2)))
    root = cut(cut(np.sqrt(new_v)) / F32((1 - beta2 ** step) ** 0.5) + F32(eps))
    p = cut(p - cut(F32(lr / (1 - beta1 ** step)) * cut(new_m / root)))
    return p.astype(w.dtype), new_m.astype(m.dtype), new_v.astype(v.dtype)


def in_place(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """Returns nothing."""
    for array, new in zip((w, m, v), loop(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step)):
        array[...] = new


RIGHT = [loop, fused, in_place]
WRONG = [eps_inside_the_root, no_bias_correction, bf16_inside]
