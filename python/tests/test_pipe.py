"""What a Program answers to the lines and bytes of docs/pipe.md."""

import os
import subprocess
import sys

import numpy as np
import pytest
from fake import ADAMW, Fake, adamw_call
from kernels import loop

from halfcheck.formats import dtype_of
from halfcheck.pipe import Op, Program, Unsupported

X = np.array([2, 4], dtype_of("bf16"))
OUT = {"out": ("bf16", [2])}


@pytest.fixture
def talk():
    """Makes a Fake of functions by op, and ends it."""
    open_ones = []

    def begin(ops, shared=None, **more):
        program = Program(ops, **more)
        open_ones.append(Fake(program, shared))
        return open_ones[-1]
    yield begin
    for one in open_ones:
        one.close()


def test_greets_with_its_name_ops_formats_and_layout(talk):
    fake = talk({"adamw": Op(loop, formats=["bf16"], orders=["torch-loop"]), "sqrt": np.sqrt},
                name="mine", facts={"torch": "2"}, nondeterministic=True)
    assert fake.greeting == {"pipe": 1, "name": "mine", "layout": "nchw", "facts": {"torch": "2"},
                             "nondeterministic": True,
                             "ops": {"adamw": {"formats": ["bf16"], "orders": ["torch-loop"]},
                                     "sqrt": {}}}


def test_answers_with_the_outputs_of_the_call(talk):
    inputs, outputs = adamw_call()
    got = talk({"adamw": loop}).call("adamw", inputs, outputs, ADAMW)
    assert got["new_w"].dtype == dtype_of("bf16")
    np.testing.assert_allclose(got["new_m"], 0.05, rtol=1e-6)
    np.testing.assert_allclose(got["new_w"].astype(float), 0.9898, rtol=4e-3)


def test_gives_the_same_answer_through_shared_memory_that_grows(talk):
    memory = os.memfd_create("test")
    fake = talk({"adamw": loop}, shared=memory)
    assert fake.greeting["shared"] is True
    for n in (5, 3, 1000, 7, 100000):
        inputs, outputs = adamw_call(n, g=0.25)
        got = fake.call("adamw", inputs, outputs, ADAMW)
        want = loop(*list(inputs.values())[:4], float(np.float32(1e-2)), float(np.float32(0.9)),
                    0.99, 1e-8, 0.01, 1)
        for slot, array in zip(outputs, want):
            np.testing.assert_array_equal(got[slot], array, err_msg=f"{slot} [{n}]")
    os.close(memory)


def test_a_function_that_works_in_place_returns_nothing(talk):
    def add_(w, g, **others):
        w += g

    inputs, outputs = adamw_call()
    got = talk({"adamw": add_}).call("adamw", inputs, outputs, ADAMW)
    np.testing.assert_array_equal(got["new_w"].astype(float), 1.5)


def test_says_no_to_what_the_function_does_not_take(talk):
    inputs, outputs = adamw_call()
    fake = talk({"adamw": loop})
    assert fake.call("adamw", inputs, outputs, {**ADAMW, "eps_inside": True}) == \
        "no such call: it takes no eps_inside, which is True"
    assert fake.call("adamw", inputs, outputs, {**ADAMW, "arithmetic": "bf16"}) == \
        "no such call: it takes no arithmetic, which is bf16"
    assert isinstance(fake.call("adamw", *adamw_call(), ADAMW), dict)


def test_leaves_out_the_step_for_a_function_that_takes_no_found_inf(talk):
    def never(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
        raise AssertionError("it is not asked")
    inputs, outputs = adamw_call(found_inf=1)
    got = talk({"adamw": never}).call("adamw", inputs, outputs, ADAMW)
    np.testing.assert_array_equal(got["new_w"], inputs["w"])


def test_a_function_that_takes_found_inf_is_asked(talk):
    def skip(w, g, m, v, found_inf, beta2, eps, weight_decay):
        assert found_inf[0] == 1
        return w, m, v
    inputs, outputs = adamw_call(found_inf=1)
    got = talk({"adamw": skip}).call("adamw", inputs, outputs, ADAMW)
    np.testing.assert_array_equal(got["new_w"], inputs["w"])


def test_says_no_to_a_result_of_another_float_format(talk):
    answer = talk({"sqrt": np.sqrt}).call("sqrt", {"x": X}, {"out": ("fp32", [2])})
    assert answer == "no such call: sqrt gives out in bf16 where fp32 is asked for"


def test_a_function_may_say_no_itself(talk):
    def never(x):
        raise Unsupported("not today")
    assert talk({"sqrt": never}).call("sqrt", {"x": X}, OUT) == "no such call: not today"


@pytest.mark.parametrize("result, why", [
    ((X, X), "returned 2 results; the outputs are out"),
    (X[:1], "gives out of shape [1], not [2]"),
    (X.reshape(1, 2), "gives out of shape [1, 2], not [2]"),
    ({"y": X}, "gave y; the outputs are out"),
    ({}, "gave no out; sqrt has the outputs out"),
    (None, "returned None; the outputs are out"),
    (X.astype(np.int32), "gives out in i32 where bf16 is asked for"),
    ("text", "is no array"),
])
def test_says_error_to_a_result_that_fits_no_output(talk, result, why, capfd):
    def bad(x):
        return result
    fake = talk({"sqrt": bad})
    answer = fake.call("sqrt", {"x": X}, OUT)
    assert answer.startswith("error TypeError: ") and why in answer
    assert fake.call("sqrt", {"x": X}, OUT) == answer  # and goes on
    assert "Traceback" in capfd.readouterr().err


def test_results_may_be_views_and_scalars(talk):
    fake = talk({"sqrt": lambda x: x[::-1], "sum": lambda x: np.float32(x.astype(float).sum())})
    np.testing.assert_array_equal(fake.call("sqrt", {"x": X}, OUT)["out"].astype(float), [4, 2])
    np.testing.assert_array_equal(
        fake.call("sum", {"x": X}, {"out": ("fp32", [1])}, {"accumulator": "fp32"})["out"], [6])


def test_tells_what_the_first_output_is(talk):
    def cast(x, out_format, out_dtype, out_shape):
        assert out_format == "fp16" and out_shape == (2,)
        return x.astype(out_dtype)
    got = talk({"cast": cast}).call("cast", {"x": X}, {"out": ("fp16", [2])},
                                    {"direction": "nearest"})
    assert got["out"].dtype == np.float16


def test_counts_right_rows_for_a_loss_that_does_not(talk):
    def xent(logits, labels):
        return np.float32(0)
    nan = np.nan
    logits = np.array([[1, 2], [2, 2], [2, 2], [nan, 3], [nan, 3], [3, nan]], np.float32)
    labels = np.array([1, 0, 1, 0, 1, 0], np.int32)
    got = talk({"xent": xent}).call("xent", {"logits": logits, "labels": labels},
                                    {"loss": ("fp32", [1]), "correct": ("fp32", [1])},
                                    {"sum": False})
    # Right: the larger one; the first of two equal ones; and what no number is above, beside NaN.
    assert got["correct"].tolist() == [4]


def test_a_raw_function_gets_the_call(talk):
    def raw(call):
        assert (call.op, call.format, call.outputs) == ("axpy", "bf16", {"out": ("bf16", (2,))})
        return {"out": call.inputs["x"] * call.dtypes["bf16"].type(call.params["alpha"])}
    got = talk({"axpy": Op(raw, raw=True)}).call("axpy", {"x": X, "y": X}, OUT,
                                                 {"alpha": (0.5).hex()})
    np.testing.assert_array_equal(got["out"].astype(float), [1, 2])


def test_a_program_prints_where_it_harms_nothing(tmp_path):
    program = tmp_path / "mine.py"
    program.write_text("import halfcheck.pipe\n"
                       "def f(x):\n    print('hello')\n    return x\n"
                       "halfcheck.pipe.serve({'sqrt': f}, name='mine')\n")
    line = b'{"call": 1, "op": "sqrt", "in": {"x": {"format": "u8", "shape": [2], "bytes": 2}}, ' \
           b'"out": {"out": {"format": "u8", "shape": [2], "bytes": 2}}, "params": {}}\n'
    ended = subprocess.run([sys.executable, str(program)], check=False, capture_output=True,
                           input=b'{"halfcheck": "0.2.0", "pipe": 1}\n' + line + b"\1\2")
    greeting, rest = ended.stdout.split(b"\n", 1)
    assert b'"mine"' in greeting and rest == b"ok\n\1\2"
    assert ended.stderr == b"hello\n" and ended.returncode == 0


@pytest.mark.parametrize("sent", [b"hello\n", b'{"halfcheck": "0.2.0"', b"[]\n",
                                  b'{"halfcheck": "0.2.0", "pipe": 1}\n{"call": 1}\n'])
def test_a_program_that_is_spoken_to_by_another_says_so(sent):
    ended = subprocess.run([sys.executable, "-c", "import halfcheck.pipe, numpy\n"
                            "halfcheck.pipe.serve({'sqrt': numpy.sqrt}, name='mine')"],
                           check=False, capture_output=True, input=sent)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"mine: what came was not halfcheck's: ")
    assert ended.stderr.count(b"\n") == 1
