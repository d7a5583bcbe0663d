"""Arrays of all libraries that are here, and of some that nobody makes."""

import gc

import ml_dtypes
import numpy as np
import pytest
from capsules import Fake, OnDevice

from halfcheck import arrays, dlpack

NUMBERS = np.arange(24, dtype=np.float32)


def test_reads_a_dense_array_of_either_kind_of_capsule():
    for versioned in (True, False):
        got = dlpack.to_numpy(Fake(NUMBERS, (4, 6), versioned=versioned))
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, NUMBERS.reshape(4, 6))


def test_reads_strides_offsets_and_steps_backwards():
    want = NUMBERS.reshape(4, 6)
    np.testing.assert_array_equal(dlpack.to_numpy(Fake(want, (6, 4), strides=(1, 6))), want.T)
    np.testing.assert_array_equal(
        dlpack.to_numpy(Fake(want, (2, 3), strides=(12, 2), byte_offset=4 * 7)),
        [[7, 9, 11], [19, 21, 23]])
    np.testing.assert_array_equal(
        dlpack.to_numpy(Fake(want, (24,), strides=(-1,), byte_offset=4 * 23)), NUMBERS[::-1])
    np.testing.assert_array_equal(dlpack.to_numpy(Fake(want, (3, 2), strides=(0, 1))),
                                  [[0, 1]] * 3)


def test_reads_scalars_and_empty_arrays():
    assert dlpack.to_numpy(Fake(NUMBERS, (), byte_offset=8)) == 2
    assert dlpack.to_numpy(Fake(NUMBERS, (3, 0))).shape == (3, 0)


@pytest.mark.parametrize("code, bits, dtype", [
    (4, 16, ml_dtypes.bfloat16), (10, 8, ml_dtypes.float8_e4m3fn), (12, 8, ml_dtypes.float8_e5m2),
    (11, 8, ml_dtypes.float8_e4m3fnuz), (13, 8, ml_dtypes.float8_e5m2fnuz),
    (2, 16, np.float16), (2, 64, np.float64), (0, 32, np.int32), (0, 64, np.int64),
    (1, 8, np.uint8), (6, 8, np.bool_)])
def test_knows_the_type(code, bits, dtype):
    want = np.arange(2).astype(dtype)
    got = dlpack.to_numpy(Fake(want, (2,), code=code, bits=bits))
    assert got.dtype == np.dtype(dtype)
    assert got.tobytes() == want.tobytes()


def test_refuses_types_that_halfcheck_has_not():
    for more in ({"lanes": 2}, {"code": 5, "bits": 64}, {"code": 7, "bits": 8}, {"bits": 4}):
        with pytest.raises(TypeError, match="type code"):
            dlpack.to_numpy(Fake(NUMBERS, (2,), **more))


def test_refuses_a_capsule_that_is_none_or_of_another_version():
    with pytest.raises(TypeError, match="DLPack 2.1"):
        dlpack.to_numpy(Fake(NUMBERS, (2,), major=2))
    with pytest.raises(TypeError, match="no DLPack capsule"):
        dlpack.from_capsule("dltensor")


def test_copies_what_lies_on_a_device_by_the_way_that_there_is():
    for ways in (("dl_device",), ("cpu",), ("get",)):
        got = dlpack.to_numpy(OnDevice(NUMBERS, (2,), copies=ways))
        np.testing.assert_array_equal(got, [0, 1])
    with pytest.raises(TypeError, match="cuda:1.*neither cpu"):
        dlpack.to_numpy(OnDevice(NUMBERS, (2,)))


def test_refuses_a_copy_that_lies_on_the_device_too():
    array = OnDevice(NUMBERS, (2,))
    array.cpu = lambda: OnDevice(NUMBERS, (2,))
    with pytest.raises(TypeError, match="so does its copy"):
        dlpack.to_numpy(array)


def test_keeps_the_memory_as_long_as_the_array_lives():
    fake = Fake(NUMBERS, (4,))
    got = dlpack.to_numpy(fake)
    part = got[1:]
    del got
    gc.collect()
    assert not fake.freed
    del part
    gc.collect()
    assert fake.freed == [True]


def test_numbers_lists_and_numpy_need_no_capsule():
    assert arrays.to_numpy(NUMBERS) is NUMBERS
    assert arrays.to_numpy(0.5, np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="neither __dlpack__ nor __array__"):
        arrays.to_numpy(object())


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64", "int32", "uint8",
                                  "float8_e4m3fn", "float8_e5m2"])
def test_torch_there_and_back(name):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip(f"torch {torch.__version__} has no {name}")
    make, _ = arrays.maker("torch")
    want = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name, name))
    tensor = make(want)
    assert tensor.dtype == getattr(torch, name)
    for got, expected in ((tensor, want), (tensor.t(), want.T), (tensor[:, 1], want[:, 1])):
        got = arrays.to_numpy(got)
        assert got.dtype == want.dtype
        assert got.tobytes() == expected.tobytes()


def test_torch_with_a_gradient():
    torch = pytest.importorskip("torch")
    got = arrays.to_numpy(torch.ones(3, requires_grad=True) * 2)
    np.testing.assert_array_equal(got, [2, 2, 2])


def test_a_library_that_is_not_there_is_said():
    with pytest.raises(ValueError, match="there are numpy, torch, jax, cupy"):
        arrays.maker("tensorflow")
