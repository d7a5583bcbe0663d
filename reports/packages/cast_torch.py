"""torch's conversions of fp32 on the CPU: python cast_torch.py [HALFCHECK]"""
import torch

from rule import report

TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
         "e4m3fnuz": torch.float8_e4m3fnuz, "e5m2fnuz": torch.float8_e5m2fnuz}


def to(dtype):
    def convert(x):
        return torch.from_numpy(x).to(dtype).view(torch.uint8).numpy()
    return convert


torch.set_num_threads(1)
report(f"torch {torch.__version__}",
       [(name, name == "e4m3", ".to", to(dtype)) for name, dtype in TYPES.items()])
