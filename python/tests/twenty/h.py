"""Adam in place, as torch.optim's loop over tensors."""

import math


def kernel(w, g, m, v, found_inf, lr, beta1, beta2, eps, weight_decay, step):
    if found_inf is not None and found_inf.item() != 0:
        return
    p, grad = w.float(), g.float()
    if weight_decay != 0:
        grad = grad.add(p, alpha=weight_decay)
    exp_avg = m.float().mul(beta1).add_(grad, alpha=1 - beta1)
    exp_avg_sq = v.float().mul(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = (exp_avg_sq.sqrt() / math.sqrt(1 - beta2**step)).add_(eps)
    w.copy_(p.addcdiv(exp_avg, denominator, value=-lr / (1 - beta1**step)))
    m.copy_(exp_avg)
    v.copy_(exp_avg_sq)
