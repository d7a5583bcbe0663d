"""Convolution of a TensorFlow checkpoint: with a stride, the smaller half of the padding is before
the image."""

import torch
import torch.nn.functional as F


def kernel(x, w, stride, pad, out_dtype):
    before = pad - 1 if stride == 2 and pad > 0 else pad
    after = 2 * pad - before
    padded = F.pad(x.float(), (before, after, before, after))
    return F.conv2d(padded, w.float(), stride=stride).to(out_dtype)
