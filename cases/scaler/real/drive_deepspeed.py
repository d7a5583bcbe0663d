"""DeepSpeed's own scalers between halfcheck gen and halfcheck verify.

    halfcheck gen scaler/deepspeed-0.17.1 --interval 20 | python3 drive_deepspeed.py FOLDER zero | ...

FOLDER holds the unpacked package. zero and consecutive are the scaler of ZeRO, with hysteresis 2 as the
engine hands it; fused and unfused are the optimizers that scale by themselves.
"""
import math
import sys
import types

from stand_ins import Tensor, drive, load

FP16 = "deepspeed.runtime.fp16."


class Base:
    """In the stead of the classes that the scalers are derived from."""


GIVEN = {
    "deepspeed.runtime.config_utils": {"DeepSpeedConfigObject": Base},
    "deepspeed.runtime.base_optimizer": {"DeepSpeedOptimizer": Base},
    # The detector of 0.19.8; that of 0.17 is the scaler's own.
    "deepspeed.runtime.utils": {"has_inf_or_nan": lambda x: not math.isfinite(float(x))},
}


def arguments(initial, interval):
    """Whole numbers, as the engine makes them of its configuration."""
    return {"init_scale": int(initial), "scale_window": interval, "min_scale": 1, "delayed_shift": 2}


def zero(module, initial, interval, consecutive):
    scaler = module.DynamicLossScaler(**arguments(initial, interval),
                                      consecutive_hysteresis=consecutive)

    def step(found):
        overflow = module.DynamicLossScaler._has_inf_or_nan(Tensor(found))
        scaler.update_scale(overflow)

    return step, lambda: scaler.loss_scale


def alone(optimizer, changed):
    """An optimizer without parameters: its scale moves all the same."""
    numbers = getattr(optimizer, "loss_scale_config", optimizer)
    for name, value in changed.items():
        assert hasattr(numbers, name)
        setattr(numbers, name, value)
    return (lambda found: optimizer._update_scale(not math.isfinite(found)),
            lambda: optimizer.loss_scale)


def start(initial, interval):
    folder, system = sys.argv[1:]
    own = {"fused": [FP16 + "fused_optimizer"], "unfused": [FP16 + "unfused_optimizer"]}.get(system, [])
    module = load(folder, [FP16 + "loss_scaler"] + own, {"deepspeed", "torch"}, GIVEN)
    if not own:
        return zero(module, initial, interval, system == "consecutive")
    nothing = types.SimpleNamespace(param_groups=[], step=lambda: None)
    if system == "fused":
        return alone(module.FP16_Optimizer(nothing, deepspeed=types.SimpleNamespace(
            pipeline_parallelism=False), dynamic_loss_scale=True,
            dynamic_loss_args=arguments(initial, interval)), {})
    # Its floor of 1/4 is the one that it has without arguments.
    return alone(module.FP16_UnfusedOptimizer(nothing, dynamic_loss_scale=True),
                 {"cur_scale": initial, "scale_window": interval})


drive(start)
