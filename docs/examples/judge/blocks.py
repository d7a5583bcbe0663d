"""Makes the files beside it: blocks of 32 in e4m3 with scales in e8m0, as OCP's MX has them, right
and with the exponent rounded up."""
import ml_dtypes
import numpy as np


def quantize(x, round_exponent):
    blocks = x.reshape(len(x), -1, 32)
    amax = np.abs(blocks).max(-1)
    k = round_exponent(np.log2(amax)) - 8  # e4m3's largest exponent
    scaled = np.clip(np.ldexp(blocks, -k.astype(int)[..., None]), -448, 448)
    codes = scaled.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return codes.reshape(x.shape), (k + 127).astype(np.uint8)


x = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)
np.save('blocks.npy', x)
for name, rounding in (('floor', np.floor), ('ceil', np.ceil)):
    codes, scales = quantize(x, rounding)
    np.save(f'{name}-codes.npy', codes)
    np.save(f'{name}-scales.npy', scales)
