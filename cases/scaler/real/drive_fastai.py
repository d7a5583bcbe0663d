"""fastai's own MixedPrecision callback between halfcheck gen and halfcheck verify.

    halfcheck gen scaler/fastai --interval 20 | python3 drive_fastai.py FOLDER 1 | halfcheck verify ...

FOLDER holds the unpacked package; 1 or 2 says which fastai it is.
"""
import enum
import sys
import types
import typing

from stand_ins import Tensor, drive, load


def keep(thing):
    return thing


def decorator(*args, **kwargs):
    return keep


class CancelBatchException(Exception):
    pass


class Callback:
    """fastai's: what a callback does not have itself is its learner's."""

    def __init__(self, learn=None):
        self.learn, self.not_min = learn, []

    def __getattr__(self, name):
        return getattr(self.__dict__["learn"], name)


class Model:
    def __init__(self, parameter):
        self.parameter = parameter

    def zero_grad(self):
        self.parameter.grad = None


class Learner(types.SimpleNamespace):
    pass


def learner(parameter):
    """What the callbacks ask of a learner: one group of one parameter, on a GPU."""
    groups = [[parameter]]
    opt = types.SimpleNamespace(param_lists=groups, state={}, opt=None,
                                new_with_params=lambda masters: types.SimpleNamespace(opt=masters))
    return Learner(layer_groups=groups, opt=opt, model=Model(parameter),
                   training=True, dls=types.SimpleNamespace(device=types.SimpleNamespace(type="cuda")))


def copy_gradients(model, masters, flat_master):
    for parameter, master in zip(model, masters):
        master.grad = parameter.grad.clone()


TORCH = types.SimpleNamespace(
    backends=types.SimpleNamespace(cudnn=types.SimpleNamespace(enabled=True)),
    Tensor=Tensor, float16=object(), float32=object(), bfloat16=object())
COMMON = dict({name: getattr(typing, name) for name in ("Any", "List", "Sequence", "Tuple")}, torch=TORCH, Tensor=Tensor, Learner=Learner,
              nn=types.SimpleNamespace(Parameter=lambda tensor, requires_grad: tensor))
ONE = {
    "fastai.torch_core": dict(COMMON, ModuleList=list, Rank0Tensor=Tensor, to_float=keep,
                              split_no_wd_params=keep),
    "fastai.callback": {},
    "fastai.basic_train": dict(LearnerCallback=Callback,
                               ifnone=lambda given, other: other if given is None else given),
}
TWO = {
    "fastai.basics": dict(COMMON, Callback=Callback, TrainEvalCallback=Callback, Enum=enum.Enum,
                          Optimizer=object, CancelBatchException=CancelBatchException, L=list,
                          docs=keep, log_args=keep, patch=keep, delegates=decorator, to_half=keep,
                          to_float=keep, store_attr=decorator),
    "fastai.callback.progress": {},
    "fastai.fp16_utils": dict(convert_network=keep, model_grads_to_master_grads=copy_gradients,
                              master_params_to_model_params=decorator),
}
EVENTS = {
    "1": ["on_backward_begin", "on_backward_end", "on_step_end"],
    "2": ["before_backward", "after_backward", "before_step", "after_step", "after_batch"],
}


def begin_one(module, learn, initial, interval):
    callback = module.MixedPrecision(learn, loss_scale=initial, max_noskip=interval)
    callback.on_train_begin()
    return callback


def begin_two(module, learn, initial, interval):
    own = getattr(module, "NonNativeMixedPrecision", module.MixedPrecision)
    callback = own(max_loss_scale=initial, scale_wait=interval)
    callback.learn = learn
    callback.before_fit()
    return callback


def start(initial, interval):
    folder, fastai = sys.argv[1:]
    name, given, begin = {"1": ("fastai.callbacks.fp16", ONE, begin_one),
                          "2": ("fastai.callback.fp16", TWO, begin_two)}[fastai]
    module = load(folder, [name], {"fastai", "torch"}, given)
    parameter = Tensor(1)
    learn = learner(parameter)
    callback = begin(module, learn, initial, interval)
    events = [event for event in EVENTS[fastai] if hasattr(type(callback), event)]

    def step(found):
        learn.loss, learn.loss_grad = Tensor(1), Tensor(1)
        parameter.grad = Tensor(found)
        try:
            for event in events:
                getattr(callback, event)(**({"last_loss": 1.0} if event == "on_backward_begin" else {}))
        except CancelBatchException:
            pass

    return step, lambda: callback.loss_scale


drive(start)
