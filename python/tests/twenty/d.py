"""Batch norm in one pass over the batch: sums of x and of x * x.

Source: https://github.com/tenstorrent/tt-metal/issues/45968
"""

import torch


def kernel(x, gamma, beta, mean, variance, eps, momentum, out_dtype):
    channel = (1, -1, 1, 1)
    wide = x.float()
    count = x.numel() // x.shape[1]
    batch_mean = wide.sum(dim=(0, 2, 3)) / count
    batch_var = (wide * wide).sum(dim=(0, 2, 3)) / count - batch_mean * batch_mean
    batch_var = batch_var.clamp(min=0)
    invstd = torch.rsqrt(batch_var + eps)
    y = (wide - batch_mean.view(channel)) * invstd.view(channel)
    y = y * gamma.float().view(channel) + beta.float().view(channel)
    unbiased = batch_var * (count / max(count - 1, 1))
    new_mean = (1 - momentum) * mean.float() + momentum * batch_mean
    new_variance = (1 - momentum) * variance.float() + momentum * unbiased
    return y.to(out_dtype), batch_mean, invstd, new_mean.to(mean.dtype), \
        new_variance.to(variance.dtype)
