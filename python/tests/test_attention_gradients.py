"""python/examples/torch_attention.py: the definition passes what is right in either way and fails what
rounds its sums by blocks, and PyTorch's two ways are told apart where they exist."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
halfcheck = pytest.importorskip("halfcheck")

PATH = Path(__file__).resolve().parents[1] / "examples" / "torch_attention.py"
_spec = importlib.util.spec_from_file_location("torch_attention", PATH)
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def gradients(q, k, v, dy, stored=lambda x: x, block=None, by_weights=False):
    """Attention's gradients in fp32. `stored` is done to what may be stored in 16 bits, and with a
    block dv is rounded to bf16 after each block of so many queries. by_weights: the softmax's
    gradient has the sum of the weights' gradients, as that of a softmax by itself has it."""
    q, k, v, dy = (x.float() for x in (q, k, v, dy))
    scale = q.shape[-1] ** -0.5
    p = torch.softmax(q @ k.transpose(1, 2) * scale, -1)
    o = stored(p @ v)
    dp = dy @ v.transpose(1, 2)
    along = p * dp if by_weights else dy * o
    ds = stored(p * (dp - along.sum(-1, keepdim=True)))
    w = stored(p).transpose(1, 2)
    dv = w @ dy
    if block:
        dv = torch.zeros_like(v).bfloat16()
        for i in range(0, dy.shape[1], block):
            dv = (dv.float() + w[:, :, i:i + block] @ dy[:, i:i + block]).bfloat16()
    return {name: x.bfloat16() for name, x in (
        ("dq", scale * ds @ k), ("dk", scale * ds.transpose(1, 2) @ q), ("dv", dv))}


def steep():
    """Inputs of one query and three keys, of which the last weighs 2^-40, nearly, and its product of
    dy and v is beyond fp32: 2^60 in v, 2^70 in dy."""
    given = {"q": [[[1.0, 0.0]]], "k": [[[0.0, 1.0], [0.0, 2.0], [-39.0, 0.0]]],
             "v": [[[1.0], [2.0], [2.0**60]]], "dy": [[[2.0**70]]]}
    return {name: torch.tensor(x).bfloat16() for name, x in given.items()}


def judged(by_weights, factor=1):
    given = steep()
    outputs = gradients(**given, by_weights=by_weights)
    return halfcheck.judge(define=example.BY_WEIGHTS if by_weights else example.GRADIENTS,
                           inputs=given, outputs=outputs | {"dv": factor * outputs["dv"]})


@pytest.mark.parametrize("by_weights", [False, True])
def test_where_a_product_with_v_overflows_each_sum_is_right_by_its_own_text(by_weights):
    assert judged(by_weights).verdict != "FAIL"
    assert judged(by_weights, factor=2).verdict == "FAIL"


def test_what_has_the_sum_of_weights_is_right_by_the_text_of_it_where_nothing_overflows():
    given = example.inputs()
    right = gradients(**given, by_weights=True)
    wrong = gradients(**given, by_weights=True, stored=in_bf16, block=64)
    assert halfcheck.judge(define=example.BY_WEIGHTS, inputs=given, outputs=right)
    verdict = halfcheck.judge(define=example.BY_WEIGHTS, inputs=given, outputs=wrong)
    assert [name for name, row in verdict.outputs.items() if row["wrong"]] == ["dv"]


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
