"""Gradients over the loss scale, in chunks, with the flag of an overflow."""

import torch

CHUNK = 64


def kernel(x, scale, found_inf, reciprocal, out_dtype):
    inverse = (1 / scale.double()).float()
    out = torch.empty(x.shape, dtype=out_dtype)
    flag = torch.zeros(1) if found_inf is None else (found_inf != 0).float()
    flat, target = x.reshape(-1), out.view(-1)
    for at in range(0, len(flat), CHUNK):
        part = flat[at:at + CHUNK].float()
        flag = torch.maximum(flag, (~torch.isfinite(part)).any().float())
        target[at:at + CHUNK] = (part * inverse if reciprocal else part / scale).to(out_dtype)
    return out, flag
