"""What .ci/wheel and .ci/manylinux try of an installed wheel; python/tests/kernels.py is beside it."""
import halfcheck
import kernels
import numpy as np
import pytest


@pytest.mark.halfcheck(op="adamw", formats=["bf16-state-bf16"])
def test_adamw(halfcheck):
    halfcheck(kernels.loop)


def test_what_is_wrong():
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(kernels.no_bias_correction, op="adamw", formats=["bf16"])
    one = np.ones(3, np.float32)
    assert halfcheck.judge("add", [one, one], one + one)
    assert not halfcheck.judge("add", [one, one], one)
