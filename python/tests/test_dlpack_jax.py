"""Arrays of jax, there and back."""

# pylint: disable=wrong-import-position

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")

from halfcheck import arrays  # noqa: E402


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "int32", "uint8",
                                  "float8_e4m3fn", "float8_e5m2"])
def test_jax_there_and_back(name):
    make, _ = arrays.maker("jax")
    want = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name, name))
    got = arrays.to_numpy(make(want).T)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.T.tobytes()


def test_jax_without_x64_has_no_fp64():
    if jax.config.jax_enable_x64:
        pytest.skip("jax_enable_x64 is on")
    with pytest.raises(arrays.Unsupported, match="no fp64"):
        arrays.maker("jax")[0](np.ones(2))
