"""DeepGEMM's, MS-AMP's and flax's scales, judged: python judge_sources.py HALFCHECK deepgemm FOLDER

The second argument is deepgemm, ms-amp or flax; FOLDER holds its sources. flax needs jax.
"""
import sys

import numpy as np
import torch

from drive import bits, blocks, functions, judge


def deepgemm(folder):
    names = ["ceil_div", "align", "ceil_to_ue8m0", "per_token_cast_to_fp8"]
    cast = functions(f"{folder}/deep_gemm/utils/math.py", names,
                     {"torch": torch, "Tuple": tuple})[-1]

    def tensor(amaxes):
        x = torch.from_numpy(amaxes.reshape(-1, 1).copy())
        return bits(cast(x, False, 1)[1].numpy())

    def block(elements):
        codes, scales = cast(torch.from_numpy(elements.copy()), True, elements.shape[1])
        return blocks((scales.numpy().view(np.uint32) >> 23).ravel(),
                      codes.view(torch.uint8).numpy())

    return [("deepgemm", [], tensor), ("deepgemm-ue8m0", [], block)]


def ms_amp(folder):
    step, = functions(f"{folder}/msamp/common/tensor/meta.py", ["compute_scaling_factor"],
                      {"torch": torch})

    def answer(amaxes):
        scale, scales = torch.ones(1), []
        for amax in amaxes.ravel():
            scale = step(torch.tensor([float(amax)]), scale, 448.0, 0)
            scales.append(float(scale[0]))
        return bits(scales)

    return [("ms-amp", [], answer)]


def flax(folder):
    """The step of a module: the scale of the history before this amax, then the amax enters."""
    import jax.numpy as jnp
    scale_of, history_of = functions(f"{folder}/flax/linen/fp8_ops.py",
                                     ["compute_scale", "compute_amax_history"], {"jnp": jnp})

    def answer(amaxes):
        history, scale, scales = jnp.zeros(4, jnp.float32), jnp.ones((), jnp.float32), []
        for amax in amaxes.ravel():
            scale = scale_of(jnp.max(history, axis=0), scale, np.float32(448))
            history = history_of(jnp.asarray([amax]), history)
            scales.append(float(scale))
        return bits(scales)

    return [("flax-delayed", [], answer)]


which = {"deepgemm": deepgemm, "ms-amp": ms_amp, "flax": flax}[sys.argv[2]]
torch.set_num_threads(1)
judge(f"{sys.argv[2]}, torch {torch.__version__}", which(sys.argv[3]))
