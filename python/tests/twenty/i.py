"""The model's bf16 copy of fp32 masters, by their bits: the upper half of each word.

Source: https://github.com/stillwater-sc/universal/pull/1134
"""

import torch


def kernel(master, out_dtype):
    if out_dtype != torch.bfloat16:
        return master.to(out_dtype)
    upper = (master.view(torch.int32) >> 16).to(torch.int16)
    nan = torch.isnan(master)
    return torch.where(nan, torch.full_like(upper, 0x7fc0), upper).view(torch.bfloat16)
