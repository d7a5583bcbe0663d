"""The gradient of cross-entropy: softmax less one at the label, in fp32."""

import torch


def kernel(logits, labels, upstream, sum, out_dtype):
    z = logits.float()
    softmax = torch.softmax(z, dim=1)
    rows = torch.arange(len(z))
    softmax[rows, labels.long()] -= 1
    factor = upstream.float() if sum else upstream.float() / len(z)
    return (softmax * factor).to(out_dtype)
