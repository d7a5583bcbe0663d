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
    """The step of a module: the scale of the history before this amax, then the amax enters. It is
    done by jax, and by numpy in its place: XLA flushes subnormal numbers on the CPU."""
    import jax.numpy as jnp
    path, names = f"{folder}/flax/linen/fp8_ops.py", ["compute_scale", "compute_amax_history"]

    def steps(amaxes, array, scale_of, history_of):
        history, scale, scales = array.zeros(4, np.float32), array.ones((), np.float32), []
        for amax in amaxes.ravel():
            scale = scale_of(array.max(history, axis=0), scale, np.float32(448))
            history = history_of(array.asarray([amax]), history)
            scales.append(float(scale))
        return bits(scales)

    def by_jax(amaxes):
        return steps(amaxes, jnp, *functions(path, names, {"jnp": jnp}))

    def by_numpy(amaxes):
        scale_of, = functions(path, names[:1], {"jnp": np})
        return steps(amaxes, np, scale_of,
                     lambda x, history: np.append(x[:1], np.roll(history, -1)[1:]))

    return [("flax-delayed", [], by_jax), ("flax-delayed", [], by_numpy)]


which = {"deepgemm": deepgemm, "ms-amp": ms_amp, "flax": flax}[sys.argv[2]]
torch.set_num_threads(1)
judge(f"{sys.argv[2]}, torch {torch.__version__}", which(sys.argv[3]))
