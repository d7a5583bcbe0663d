"""TransformerEngine's Python references, judged: python judge_te.py HALFCHECK FOLDER

FOLDER holds its sources. The functions are taken out of their files, so nothing of it is imported.
"""
import sys
import typing

import numpy as np
import torch

from drive import bits, blocks, functions, judge

FOLDER = sys.argv[2]
RECIPES = f"{FOLDER}/transformer_engine/pytorch/"


def current(pow2):
    """Their test's expectation of current scaling, an amax a call."""
    scale_of, = functions(f"{FOLDER}/tests/pytorch/references/quantize_scale_calc.py",
                          ["scale_from_amax_tensor"], {"torch": torch, "Tuple": typing.Tuple})

    def answer(amaxes):
        found = scale_of(torch.float32, torch.from_numpy(amaxes.ravel().copy()),
                         torch.float8_e4m3fn, eps=0.0, pow_2_scales=pow2)
        return bits(found[0].numpy())
    return answer


def unfused(window, algorithm):
    """The functions that delayed scaling calls where its fused kernel is not taken."""
    names = ["_update_amax_history", "_default_get_amax_and_update_history", "_default_sf_compute"]
    _, gather, scale_of = functions(RECIPES + "quantization.py", names,
                                    {"torch": torch, "Tuple": typing.Tuple})

    def answer(amaxes):
        history, scale, scales = torch.zeros(window, 1), torch.ones(1), []
        for amax in amaxes.ravel():
            history[0] = float(amax)
            history, reduced = gather(history, algorithm)
            scale_of(reduced, scale, 448.0, 0)
            scales.append(float(scale[0]))
        return bits(scales)
    return answer


def nvfp4(words):
    """The reference of NVFP4, a block a call, since each has a tensor's amax of its own."""
    pack, quantize = functions(
        RECIPES + "custom_recipes/reference_nvfp4.py",
        ["cast_to_fp4x2", "_quantize_blockwise_reference"], {"torch": torch, "Tuple": typing.Tuple})
    answers = []
    for row in words:
        x = torch.from_numpy(row[1:].reshape(1, 16).copy())
        packed, scales = quantize(None, x, torch.tensor([float(row[0])]), 16, 1,
                                  pow_2_scales=False, eps=0.0)
        pairs = packed.numpy().ravel()
        answers += blocks(scales.view(torch.uint8).numpy().ravel(),
                          np.stack([pairs & 15, pairs >> 4], 1).ravel(), 1)
    return answers


torch.set_num_threads(1)
judge(f"TransformerEngine's references, torch {torch.__version__}",
      [("te-reference", [], current(False)), ("te-reference-pow2", [], current(True)),
       ("te-current", [], current(False)),
       ("te-delayed-unfused", [], unfused(4, "max")),
       ("te-delayed-unfused", ["--window", "16"], unfused(16, "max")),
       ("te-delayed-unfused", ["--most-recent"], unfused(4, "most_recent")),
       ("te-delayed", [], unfused(4, "max")), ("nvfp4-te", [], nvfp4)])
