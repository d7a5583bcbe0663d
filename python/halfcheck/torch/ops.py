"""The ops of halfcheck as PyTorch computes them: one function for each, one call of torch in each.

A function takes a call (its inputs by slot, the format and shape of each output, its parameters)
and returns the outputs by slot. Images are NCHW here. What the slots and parameters mean stands in
halfcheck's headers src/op/*.h.
"""

import torch
import torch.nn.functional as F

from .refusal import Refusal, dtype_of, into, room_for, single

aten = torch.ops.aten


def saturates(format):
    """Whether this torch makes the largest number of what is too large for the format."""
    return bool(torch.isfinite(torch.tensor([1e300]).double().to(dtype_of(format)).float()).all())


def cast(call):
    direction, (format, shape) = call.params["direction"], call.outputs["out"]
    x = call.inputs["x"]
    whole = format == "i32"
    if direction != ("toward-zero" if whole else "nearest"):
        raise Refusal("torch cuts numbers to integers" if whole else "torch rounds to nearest")
    if not whole and call.params["saturate"] != saturates(format):
        raise Refusal(f"torch's cast to {format} saturates" if saturates(format) else
                      f"torch's cast to {format} does not saturate")
    return {"out": x.to(dtype_of(format)).reshape(tuple(shape))}


def master_to_model(call):
    format, shape = call.outputs["copy"]
    return {"copy": call.inputs["master"].to(dtype_of(format)).reshape(tuple(shape))}


def _elementwise(function):
    def kernel(call):
        return {"out": into(function(*call.inputs.values()), call.outputs["out"])}

    return kernel


add, sub = _elementwise(torch.add), _elementwise(torch.sub)
mul, div = _elementwise(torch.mul), _elementwise(torch.div)
sqrt = _elementwise(torch.sqrt)


def axpy(call):
    x, y = call.inputs["x"], call.inputs["y"].reshape(call.inputs["x"].shape)
    room = room_for(call.outputs["out"], x, y)
    return {"out": torch.add(y, x, alpha=single(call.params["alpha"]), out=room)}


def scale(call):
    """x * s as GradScaler.scale does it where the result has x's format."""
    return {"out": _with_scalar(torch.mul, call.inputs["x"], call.inputs["s"], call)}


def _with_scalar(function, x, s, call):
    """Without a dimension s is a scalar, and the result keeps x's format.

    With one it takes part in the promotion: fp32 of a 16-bit x.
    """
    if x.dtype == dtype_of(call.outputs["out"][0]):
        return function(x, s.reshape(()))
    return function(x, s.reshape(1), out=room_for(call.outputs["out"], x, s))


def unscale(call):
    """GradScaler's kernel with `reciprocal`, otherwise the division that fastai wrote."""
    x, s = call.inputs["x"], call.inputs["scale"].reshape(())
    if "override" in call.inputs:
        raise Refusal("torch has no override")
    found = call.inputs.get("found_inf")
    found = torch.zeros(1) if found is None else (found != 0).float().reshape(1)
    if call.params["reciprocal"]:
        out = into(x.clone(), call.outputs["out"])
        inverse = s.double().reciprocal().float()
        torch._amp_foreach_non_finite_check_and_unscale_([out], found, inverse)
    else:
        out = _with_scalar(torch.div, x, s, call)
        found = torch.maximum(found, (~torch.isfinite(x)).any().float())
    return {"out": out, "new_found_inf": found}


def sum(call):
    x = call.inputs["x"].flatten()
    format, _ = call.outputs["out"]
    if call.params["accumulator"] != "fp32":
        raise Refusal("torch adds 16-bit numbers up in fp32")
    return {"out": into(torch.sum(x, dtype=dtype_of(format)), call.outputs["out"])}


def dot(call):
    if call.params["accumulator"] != "fp32":
        raise Refusal("torch takes no accumulator for dot")
    x, y = call.inputs["x"].flatten(), call.inputs["y"].flatten()
    return {"out": into(torch.dot(x, y), call.outputs["out"])}


def sum_squares(call):
    total = call.inputs["x"].float().square().sum()
    if "partial" in call.inputs:
        total = total + call.inputs["partial"].reshape(())
    return {"out": into(total, call.outputs["out"])}


def _refuse_tf32(params):
    if params["tf32"]:
        raise Refusal("torch multiplies fp32 as fp32 on the CPU")


def gemm(call):
    p, a, b = call.params, call.inputs["a"], call.inputs["b"]
    c = call.inputs.get("c")
    _refuse_tf32(p)
    if p["half_accumulator"]:
        raise Refusal("torch has no accumulator of fp16 on the CPU")
    a = a.t() if p["transpose_a"] else a
    b = b.t() if p["transpose_b"] else b
    if c is None and p["alpha"] == 1:
        out = torch.mm(a, b)
    else:
        c = torch.zeros((), dtype=a.dtype) if c is None else c
        out = torch.addmm(c, a, b, beta=single(p["beta"]), alpha=single(p["alpha"]))
    return {"out": into(out, call.outputs["out"])}


def _extents(call):
    _refuse_tf32(call.params)
    return {"stride": call.params["stride"], "padding": call.params["pad"]}


def conv2d(call):
    y = F.conv2d(call.inputs["x"], call.inputs["w"], **_extents(call))
    return {"y": into(y, call.outputs["y"])}


def conv2d_bwd_data(call):
    shape = tuple(call.outputs["dx"][1])
    dx = torch.nn.grad.conv2d_input(
        shape, call.inputs["w"], call.inputs["dy"], **_extents(call)
    )
    return {"dx": into(dx, call.outputs["dx"])}


def conv2d_bwd_filter(call):
    shape = tuple(call.outputs["dw"][1])
    dw = torch.nn.grad.conv2d_weight(
        call.inputs["x"], shape, call.inputs["dy"], **_extents(call)
    )
    return {"dw": into(dw, call.outputs["dw"])}


def avg_pool(call):
    return {"y": into(F.avg_pool2d(call.inputs["x"], call.params["window"]), call.outputs["y"])}


def avg_pool_bwd(call):
    dy = call.inputs["dy"]
    x = torch.zeros(tuple(call.outputs["dx"][1]), dtype=dy.dtype, requires_grad=True)
    F.avg_pool2d(x, call.params["window"]).backward(dy)
    return {"dx": into(x.grad, call.outputs["dx"])}


def leaky_relu(call):
    return {"y": into(F.leaky_relu(call.inputs["x"], single(call.params["slope"])), call.outputs["y"])}


def leaky_relu_bwd(call):
    y, dy = call.inputs["y"], call.inputs["dy"]
    dx = aten.leaky_relu_backward(dy.reshape(y.shape), y, single(call.params["slope"]), True)
    return {"dx": into(dx, call.outputs["dx"])}


def xent(call):
    """torch's autocast casts 16-bit logits to fp32 before the loss, which rounds nothing."""
    z, labels = call.inputs["logits"], call.inputs["labels"].long()
    reduction = "sum" if call.params["sum"] else "mean"
    wide = z.to(torch.promote_types(z.dtype, torch.float32))
    out = {"loss": into(F.cross_entropy(wide, labels, reduction=reduction), call.outputs["loss"])}
    if "correct" in call.outputs:
        at_label = z.gather(1, labels[:, None])
        before = torch.arange(z.shape[1])[None, :] < labels[:, None]
        beaten = (z > at_label).any(1) | ((z == at_label) & before).any(1)
        correct = (~beaten & ~at_label.isnan().squeeze(1)).sum().to(wide.dtype)
        out["correct"] = into(correct, call.outputs["correct"])
    return out


def xent_bwd(call):
    z, labels = call.inputs["logits"], call.inputs["labels"].long()
    reduction = "sum" if call.params["sum"] else "mean"
    leaf = z.detach().to(torch.promote_types(z.dtype, dtype_of(call.outputs["dlogits"][0])))
    leaf.requires_grad_()
    wide = leaf.to(torch.promote_types(z.dtype, torch.float32))
    loss = F.cross_entropy(wide, labels, reduction=reduction)
    loss.backward(call.inputs["upstream"].reshape(()))
    return {"dlogits": into(leaf.grad, call.outputs["dlogits"])}


def clip(call):
    """The factor that torch multiplies gradients by: what it makes of a gradient of 1."""
    if "overflowed" in call.inputs:
        raise Refusal("torch clips after an overflow, too")
    p = torch.nn.Parameter(torch.zeros(1))
    p.grad = torch.ones(1)
    norm = call.inputs["sum_squares"].reshape(()).sqrt()
    torch.nn.utils.clip_grads_with_norm_([p], call.params["max_norm"], norm, foreach=False)
    return {"factor": p.grad}
