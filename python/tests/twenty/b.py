"""Matrix product with split K; the parts are added to the output tensor.

Source: https://github.com/ROCm/rocm-libraries/pull/5859
"""

import torch

PART = 32


def kernel(a, b, c, transpose_a, transpose_b, alpha, beta, out_dtype):
    a = a.t() if transpose_a else a
    b = b.t() if transpose_b else b
    out = torch.zeros(a.shape[0], b.shape[1], dtype=out_dtype)
    for k in range(0, a.shape[1], PART):
        part = a[:, k:k + PART].float() @ b[k:k + PART].float()
        out = (out.float() + alpha * part).to(out_dtype)
    if c is not None:
        out = (out.float() + beta * c.float()).to(out_dtype)
    return out
