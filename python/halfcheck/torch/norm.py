"""Batch norm as PyTorch computes it, alone and with a leaky ReLU behind it."""

import torch
import torch.nn.functional as F

from .refusal import Refusal, into, single

aten = torch.ops.aten


def _channels_second(x):
    """halfcheck permutes images alone; in tensors of other ranks the channels come last."""
    if x.shape[1 if x.dim() == 4 else -1] == 0:
        # Training refuses it, inference raises an IndexError, and the backward pass of torch 2.15
        # divides by zero, which ends the process.
        raise Refusal("torch has no batch norm of no channels")
    return x if x.dim() in (2, 4) else x.movedim(-1, 1)


def _back(x, out):
    """The inverse; `out` is the format and shape of an output."""
    return into(x if x.dim() in (2, 4) else x.movedim(1, -1), out)


def _train(call):
    p, t = call.params, call.inputs
    mean, variance = t["mean"].clone(), t["variance"].clone()
    x = _channels_second(t["x"])
    if x.numel() == x.shape[1]:
        raise Refusal("torch wants more than one value per channel when training")
    args = (x, t["gamma"], t["beta"], mean, variance, True, single(p["momentum"]), single(p["eps"]))
    y, saved_mean, saved_invstd = torch.native_batch_norm(*args)
    # With 16-bit statistics torch saves 16 bits. They are widened here, since the contract says
    # that what is saved is fp32: what they have lost is torch's.
    saved = {"saved_mean": saved_mean, "saved_invstd": saved_invstd}
    wide = torch.promote_types(x.dtype, torch.float32)
    out = {slot: into(s.to(wide), call.outputs[slot]) for slot, s in saved.items()}
    out["new_mean"] = into(mean, call.outputs["new_mean"])
    out["new_variance"] = into(variance, call.outputs["new_variance"])
    return y, out


def _infer(call):
    p, t = call.params, call.inputs
    args = (t["mean"], t["variance"], t["gamma"], t["beta"], False, 0.1, single(p["eps"]))
    return F.batch_norm(_channels_second(t["x"]), *args)


def _backward(call, dy):
    p, t = call.params, call.inputs
    x = _channels_second(t["x"])
    saved = (t["mean"], t["invstd"])
    args = (dy, x, t["gamma"], None, None, *saved, True, single(p["eps"]), [True, True, True])
    dx, dgamma, dbeta = aten.native_batch_norm_backward(*args)
    return {
        "dx": _back(dx, call.outputs["dx"]),
        "dgamma": into(dgamma, call.outputs["dgamma"]),
        "dbeta": into(dbeta, call.outputs["dbeta"]),
    }


def bn_train(call):
    y, out = _train(call)
    return {"y": _back(y, call.outputs["y"]), **out}


def bn_infer(call):
    return {"y": _back(_infer(call), call.outputs["y"])}


def bn_bwd(call):
    return _backward(call, _channels_second(call.inputs["dy"]))


def bn_leaky_train(call):
    y, out = _train(call)
    return {"y": _back(F.leaky_relu(y, single(call.params["slope"])), call.outputs["y"]), **out}


def bn_leaky_infer(call):
    y = F.leaky_relu(_infer(call), single(call.params["slope"]))
    return {"y": _back(y, call.outputs["y"])}


def bn_leaky_bwd(call):
    y, dy = _channels_second(call.inputs["y"]), _channels_second(call.inputs["dy"])
    return _backward(call, aten.leaky_relu_backward(dy, y, single(call.params["slope"]), True))
