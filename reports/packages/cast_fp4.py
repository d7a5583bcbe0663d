"""Conversions to e2m1 that packages write in Python: python cast_fp4.py [HALFCHECK]

SOURCES=FOLDER holds te/, dg/ (DeepGEMM) and mxc/ (microxcaling), each as its repository has it;
torchao is imported. Use --some: all inputs take an hour.
"""
import os
import sys
from enum import Enum, IntEnum

import numpy as np
import torch
from torchao.prototype.mx_formats.kernels import f32_to_f4_unpacked

from drive import functions
from rule import report

FOLDER = os.environ["SOURCES"]
VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
te, = functions(f"{FOLDER}/te/transformer_engine/pytorch/custom_recipes/reference_nvfp4.py",
                ["cast_to_fp4x2"], {"torch": torch})
deepgemm, = functions(f"{FOLDER}/dg/deep_gemm/utils/math.py", ["_quantize_to_fp4_e2m1"],
                      {"torch": torch})
sys.path.insert(0, f"{FOLDER}/mxc")


def microxcaling(rounding):
    """Its element rounding gives values; max_norm is 6, of three bits with the hidden one."""
    names = ["_safe_lshift", "_safe_rshift", "_round_mantissa", "_get_min_norm",
             "_quantize_elemwise_core"]
    formats = {"torch": torch, "Enum": Enum, "IntEnum": IntEnum, "RoundingMode": None}
    functions(f"{FOLDER}/mxc/mx/formats.py", ["_get_min_norm"], formats)
    core = functions(f"{FOLDER}/mxc/mx/elemwise_ops.py", names[:3] + names[4:], formats)[-1]

    class Modes:
        string_enums = staticmethod(list)
    formats["RoundingMode"] = Modes

    def convert(x):
        got = core(torch.from_numpy(x.copy()), 3, 2, 6.0, round=rounding, saturate_normals=True)
        got = got.numpy()
        codes = np.searchsorted(VALUES, np.abs(np.nan_to_num(got, nan=0, posinf=6, neginf=-6)))
        return (codes | np.where(np.signbit(got), 8, 0)).astype(np.uint8)
    return convert


def packed(function):
    def convert(x):
        pairs = function(torch.from_numpy(np.append(x, [0] * (len(x) % 2)).astype(np.float32))
                         .reshape(1, -1)).numpy().ravel().astype(np.uint8)
        return np.stack([pairs & 15, pairs >> 4], 1).ravel()[:len(x)]
    return convert


torch.set_num_threads(1)
report(f"in Python, torch {torch.__version__}",
       [("e2m1", True, "TransformerEngine", packed(te)),
        ("e2m1", True, "DeepGEMM",
         lambda x: deepgemm(torch.from_numpy(x.copy())).numpy().astype(np.uint8)),
        ("e2m1", True, "torchao",
         lambda x: f32_to_f4_unpacked(torch.from_numpy(x.copy())).numpy()),
        ("e2m1", True, "microxcaling nearest", microxcaling("nearest")),
        ("e2m1", True, "microxcaling even", microxcaling("even"))])
