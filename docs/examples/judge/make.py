"""Makes the files beside it: a convolution in fp16, right and with a wrong border."""
import numpy as np

rng = np.random.default_rng(1)
x = rng.standard_normal((1, 2, 4, 4)).astype(np.float16)
w = rng.standard_normal((1, 2, 3, 3)).astype(np.float16)


def conv(border):
    p = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)), mode=border)
    y = [[np.sum(p[0, :, i:i + 3, j:j + 3] * w[0]) for j in range(4)] for i in range(4)]
    return np.array([[y]]).astype(np.float16)


np.save('x.npy', x)
np.save('w.npy', w)
np.save('y.npy', conv('constant'))
np.save('wrong.npy', conv('edge'))
