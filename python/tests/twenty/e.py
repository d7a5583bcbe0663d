"""SGD with momentum that is safe with a loss scaler: after an overflow the gradient counts as zero.

Source: https://github.com/mlnomadpy/flaxchat/issues/6
"""

import torch


def kernel(w, g, momentum, found_inf, lr, beta1, weight_decay, nesterov):
    grad = g.float()
    if found_inf is not None:
        grad = torch.where(found_inf != 0, torch.zeros_like(grad), grad)
    p = w.float()
    if weight_decay != 0:
        grad = grad + weight_decay * p
    velocity = beta1 * momentum.float() + grad
    step = grad + beta1 * velocity if nesterov else velocity
    return (p - lr * step).to(w.dtype), velocity.to(momentum.dtype)
