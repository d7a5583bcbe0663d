"""python/examples/torch_attention.py: the definition passes what is right in either way and fails what
rounds its sums by blocks, and PyTorch's two ways are told apart where they exist."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

PATH = Path(__file__).resolve().parents[1] / "examples" / "torch_attention.py"
_spec = importlib.util.spec_from_file_location("torch_attention", PATH)
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def gradients(q, k, v, dy, stored=lambda x: x, block=None):
    """Attention's gradients in fp32. `stored` is done to what may be stored in 16 bits, and with a
    block dv is rounded to bf16 after each block of so many queries."""
    q, k, v, dy = (x.float() for x in (q, k, v, dy))
    scale = q.shape[-1] ** -0.5
    p = torch.softmax(q @ k.transpose(1, 2) * scale, -1)
    o = stored(p @ v)
    ds = stored(p * (dy @ v.transpose(1, 2) - (dy * o).sum(-1, keepdim=True)))
    w = stored(p).transpose(1, 2)
    dv = w @ dy
    if block:
        dv = torch.zeros_like(v).bfloat16()
        for i in range(0, dy.shape[1], block):
            dv = (dv.float() + w[:, :, i:i + block] @ dy[:, i:i + block]).bfloat16()
    return {name: x.bfloat16() for name, x in (
        ("dq", scale * ds @ k), ("dk", scale * ds.transpose(1, 2) @ q), ("dv", dv))}


def in_bf16(x):
    return x.bfloat16().float()


@pytest.mark.parametrize("stored", [lambda x: x, in_bf16], ids=["kept in fp32", "stored in bf16"])
def test_gradients_pass_whether_p_ds_and_o_are_stored_or_not(stored):
    assert example.verdict(lambda **given: gradients(**given, stored=stored))


def test_a_dv_that_is_rounded_after_each_block_of_queries_is_wrong():
    verdict = example.verdict(lambda **given: gradients(**given, stored=in_bf16, block=64))
    assert verdict.verdict == "FAIL"
    assert [name for name, row in verdict.outputs.items() if row["wrong"]] == ["dv"]


@pytest.mark.skipif(not example.ways(), reason="this PyTorch has no flash attention on a CPU")
def test_pytorch_s_flash_attention_is_wrong_and_its_math_path_is_right():
    verdicts = {name: example.verdict(lambda way=way, **given: example.by_torch(way, **given))
                for name, way in example.ways().items()}
    assert verdicts["math"]
    assert verdicts["flash"].verdict == "FAIL"
    assert [name for name, row in verdicts["flash"].outputs.items() if row["wrong"]] == ["dv"]
