"""torch.optim on one tensor: the class that people use, given the state of a step.

torch has each optimizer up to three times: as a loop over the tensors (foreach=False), over lists
of tensors (foreach=True), and fused (fused=True). The loop and the lists round to the tensors'
format after each operation; the fused one computes in fp32.
"""

import torch

from .refusal import FORMATS, Refusal

IMPLEMENTATIONS = {
    "loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
ORDERS = {"loop": "torch-loop", "foreach": "torch-loop", "fused": "torch-fused"}


def _refuse_what_torch_lacks(call):
    for name, what in (
        ("stochastic", "stochastic rounding"),
        ("eps_inside", "eps inside the root"),
        ("rate_inside", "rate inside the momentum"),
    ):
        if call.params.get(name):
            raise Refusal(f"torch has no {what}")
    if "compensation" in call.inputs:
        raise Refusal("torch has no compensation")
    if call.op == "sgd" and call.params["decoupled"]:
        raise Refusal("torch's SGD has no decoupled decay")


def _choose(call, wanted, state):
    """Which implementation computes the call: the one asked for, or the order's, or the one whose
    arithmetic the call asks for."""
    _refuse_what_torch_lacks(call)
    storage = {t.dtype for t in (call.inputs["w"], call.inputs["g"], *state)}
    if len(storage) > 1:
        raise Refusal("torch keeps gradients and state in the weights' format")
    storage = FORMATS[storage.pop()]
    order, arithmetic = call.params.get("order", "ours"), call.params["arithmetic"]
    if order not in ("ours", *ORDERS.values()):
        raise Refusal(f"torch is not {order}")
    wide = storage in ("fp32", "fp64")
    by_arithmetic = "loop" if storage == arithmetic else "fused"
    by_order = {"torch-loop": "loop", "torch-fused": "fused", "ours": by_arithmetic}[order]
    chosen = wanted or by_order
    if order not in ("ours", ORDERS[chosen]) and not wide:
        raise Refusal(f"torch's {chosen} optimizer is not of the order {order}")
    if chosen != "fused" and arithmetic != storage:
        raise Refusal(f"torch's {chosen} optimizer rounds each operation to {storage}")
    if chosen == "fused" and arithmetic in ("fp16", "bf16"):
        raise Refusal("torch's fused optimizer computes in fp32")
    return chosen


def _step(call, chosen, make, state):
    """One step of the optimizer that `make` makes; the new weights.

    The fused ones take found_inf themselves, as GradScaler hands it to them. Before the others
    GradScaler leaves the step out.
    """
    found = call.inputs.get("found_inf")
    found = None if found is None else (found != 0).float().reshape(())
    w = call.inputs["w"].clone()
    if found is not None and chosen != "fused" and found:
        return w
    p = torch.nn.Parameter(w)
    p.grad = call.inputs["g"].reshape(w.shape)
    optimizer = make([p], **IMPLEMENTATIONS[chosen])
    if found is not None and chosen == "fused":
        optimizer.grad_scale, optimizer.found_inf = None, found
    optimizer.state[p].update(state)
    optimizer.step()
    return p.detach()


def _adam(kind, wanted):
    def kernel(call):
        m, v = call.inputs["m"].clone(), call.inputs["v"].clone()
        chosen = _choose(call, wanted, (m, v))
        rate, beta1, step = call.inputs["hyper"].tolist()
        p = call.params

        def make(parameters, **how):
            return kind(
                parameters,
                lr=rate,
                betas=(beta1, p["beta2"]),
                eps=p["eps"],
                weight_decay=p["weight_decay"],
                **how,
            )

        state = {"step": torch.tensor(step - 1), "exp_avg": m, "exp_avg_sq": v}
        return {"new_w": _step(call, chosen, make, state), "new_m": m, "new_v": v}

    return kernel


def _sgd(wanted):
    def kernel(call):
        momentum = call.inputs["momentum"].clone()
        chosen = _choose(call, wanted, (momentum,))
        rate, beta1, _ = call.inputs["hyper"].tolist()
        p = call.params

        def make(parameters, **how):
            return torch.optim.SGD(
                parameters,
                lr=rate,
                momentum=beta1,
                weight_decay=p["weight_decay"],
                nesterov=p["nesterov"],
                **how,
            )

        w = _step(call, chosen, make, {"momentum_buffer": momentum})
        return {"new_w": w, "new_momentum": momentum}

    return kernel


def optimizers(wanted: "str | None" = None) -> dict:
    """The optimizers by op; `wanted` is one of IMPLEMENTATIONS, or None: as the call asks."""
    return {
        "sgd": _sgd(wanted),
        "adam": _adam(torch.optim.Adam, wanted),
        "adamw": _adam(torch.optim.AdamW, wanted),
    }
