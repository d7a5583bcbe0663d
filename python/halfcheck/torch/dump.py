"""Writes one training step of a PyTorch program as a step file, which `halfcheck judge-step`
judges layer by layer (docs/step-files.md); of a network that halfcheck does not know, the
optimizer's part of it."""

import torch

from halfcheck import safetensors
from halfcheck.torch import darknet

_KINDS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16",
          torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32"}
_OPTIMIZERS = {"AdamW": "adamw", "Adam": "adam", "SGD": "sgd"}
_MOMENTS = {"adamw": ("exp_avg", "exp_avg_sq"), "adam": ("exp_avg", "exp_avg_sq"),
            "sgd": ("momentum_buffer",)}


class dump_step:  # pylint: disable=invalid-name
    """A context around one step, eager (not compiled), of forward pass, backward pass and update:

        with dump_step("step.safetensors", model, optimizer, network="darknet16") as dump:
            loss = cross_entropy(model(images), labels)
            dump.loss(loss, labels)
            loss.backward()
            optimizer.step()

    Without `network` the model may be any: the file has no activations, and no loss is asked for.

    `scaler` has get_scale(), as GradScaler has. `clip` is the max_norm that the step clips to.
    `masters` is {name of a parameter: the tensor that the optimizer steps in its place}, where the
    model has copies in 16 bits. When the block ends without an exception the file is written."""

    def __init__(self, path, model, optimizer, *, network=None, scaler=None, clip=0.0, masters=None,
                 **metadata):
        if network is not None and network not in darknet.NETWORKS:
            raise ValueError(f"network is one of {', '.join(darknet.NETWORKS)}, not {network!r}")
        if type(optimizer).__name__ not in _OPTIMIZERS:
            raise ValueError("optimizer is AdamW, Adam or SGD of torch.optim, "
                             f"not {type(optimizer).__name__}")
        self.path, self.model, self.optimizer, self.scaler = path, model, optimizer, scaler
        self.network, self.clip, self.metadata = network, clip, metadata
        self.masters = dict(masters or {})
        strangers = sorted(set(self.masters) - {name for name, _ in model.named_parameters()})
        if strangers:
            raise ValueError(f"masters has {strangers[0]!r}, which is no parameter of the model")
        self.groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
        if not self._stepped_parameters():
            raise ValueError("the optimizer steps no parameter of the model: where it steps "
                             "masters, pass masters={name: master}")
        self.kind = _OPTIMIZERS[type(optimizer).__name__]
        self.tensors, self.hooks, self.stepped = {}, [], False
        self.wrapped, self.inner, self.added = False, None, set()

    def _stepped_parameters(self):
        """(name, parameter, what the optimizer steps) of all that it steps; of a network that is
        known, of all parameters."""
        named = [(name, p, self.masters.get(name, p)) for name, p in self.model.named_parameters()]
        return [row for row in named if self.network or id(row[2]) in self.groups]

    def loss(self, loss, labels):
        """Takes the step's loss, before it is scaled, and the labels."""
        self._keep("loss", loss.reshape(1))
        self._keep("batch.labels", labels)

    def __enter__(self):
        modules = dict(self.model.named_modules())
        wanted = darknet.layers(self.network) if self.network else []
        missing = [path for path in wanted if path not in modules]
        if missing:
            raise ValueError(f"the model has no module {missing[0]!r}, so it is no {self.network}")
        self._keep_state("")
        self._keep_scale("")
        if self.network:
            self.hooks = [self.model.register_forward_hook(self._logits)]
        for path in wanted:
            self.hooks.append(modules[path].register_forward_hook(self._activation(path)))
        for name, parameter, _ in self._stepped_parameters():
            if parameter.requires_grad:
                self.hooks.append(parameter.register_hook(self._gradient("gradients." + name)))
        # A scheduler may have put a wrapper of its own there.
        self.wrapped, self.inner = "step" in vars(self.optimizer), self.optimizer.step
        self.optimizer.step = self._step
        return self

    def __exit__(self, kind, error, trace):
        for hook in self.hooks:
            hook.remove()
        if self.wrapped:
            self.optimizer.step = self.inner
        else:
            del self.optimizer.step  # the class's own is found again
        if kind is not None:
            return
        for needed in ("logits", "loss") if self.network else ():
            if needed not in self.tensors:
                raise ValueError(f"the step has no {needed}" + (
                    ": call dump.loss(loss, labels) in it" if needed == "loss" else ""))
        if not self.stepped:
            self._keep_unscaled()
        if self.scaler is not None:
            self._keep("found_inf", torch.tensor([0.0 if self.stepped else 1.0]))
        self._keep_state("after.")
        self._keep_scale("after.")
        for name in self.added:
            del self.tensors[name]
        safetensors.write(self.path, self.tensors, self._metadata())

    def _keep(self, name, tensor):
        data = tensor.detach().cpu().contiguous()
        if data.dtype not in _KINDS:
            raise ValueError(f"{name} has the type {data.dtype}, which step files do not hold")
        raw = data.reshape(-1).view(torch.uint8).numpy().tobytes()
        shape = tuple(data.shape) if data.dim() <= 4 else (data.numel(),)  # rank 4 is the highest
        self.tensors[name] = _KINDS[data.dtype], shape, raw

    def _keep_state(self, when):
        state, moments = self.optimizer.state, _MOMENTS[self.kind]
        taken = torch.zeros(1)
        for name, weight, parameter in self._stepped_parameters():
            self._keep(f"{when}weights.{name}", weight)
            if parameter is not weight:
                self._keep(f"{when}masters.{name}", parameter)
            own = state.get(parameter, {})
            for moment in moments:
                value = own.get(moment)
                self._keep(f"{when}optimizer.{moment}.{name}",
                           torch.zeros_like(parameter) if value is None else value)
            if "step" in own:
                taken = torch.as_tensor(own["step"], dtype=torch.float32).reshape(1)
        for name, buffer in self.model.named_buffers():
            if self.network and buffer.is_floating_point():
                self._keep(f"{when}buffers.{name}", buffer)
        if self.kind != "sgd":
            self._keep(f"{when}optimizer.step", taken)

    def _keep_scale(self, when):
        if self.scaler is None:
            return
        self._keep(f"{when}scale", torch.tensor([float(self.scaler.get_scale())]))
        tracker = getattr(self.scaler, "_get_growth_tracker", None)
        if tracker:
            self._keep(f"{when}scaler.growth_tracker", torch.tensor([tracker()], dtype=torch.int32))

    def _keep_unscaled(self):
        if getattr(self.optimizer, "grad_scale", None) is not None:
            return  # a fused optimizer unscales inside its step
        for name, _, parameter in self._stepped_parameters():
            if parameter.grad is not None:
                self._keep("unscaled." + name, parameter.grad)

    def _logits(self, _module, inputs, output):
        self._keep("batch.images", inputs[0])
        self._keep("logits", output)
        if output.requires_grad:
            output.register_hook(self._gradient("activation_gradients.logits"))

    def _activation(self, path):
        def hook(_module, _inputs, output):
            self._keep("activations." + path, output)
            if output.requires_grad:
                output.register_hook(self._gradient("activation_gradients." + path))
        return hook

    def _gradient(self, name):
        def hook(gradient):
            if name.startswith("gradients.") and name in self.tensors:
                self.added.add(name)  # accumulated: no one of them is the step's
            self._keep(name, gradient)
        return hook

    def _step(self, *arguments, **options):
        self.stepped = True
        self._keep_unscaled()
        return self.inner(*arguments, **options)

    def _metadata(self):
        groups = [{key: group[key] for key in group if key != "params"}
                  for group in self.optimizer.param_groups]
        own = ("lr", "initial_lr", "weight_decay")  # each parameter may have its own of these
        if any({k: v for k, v in group.items() if k not in own}
               != {k: v for k, v in groups[0].items() if k not in own} for group in groups):
            raise ValueError("the parameter groups have different options besides lr and "
                             "weight_decay; step files hold one")
        group = groups[0]
        if group.get("amsgrad") or group.get("maximize") or group.get("dampening"):
            raise ValueError("amsgrad, maximize and dampening are not judged")
        decoupled = self.kind == "adamw" or group.get("decoupled_weight_decay", False)
        beta1, beta2 = group.get("betas", (group.get("momentum", 0.0), None))
        numbers = {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group.get("eps"),
                   "weight_decay": group["weight_decay"], "clip": self.clip or None}
        for key in ("growth_factor", "backoff_factor", "growth_interval"):
            getter = getattr(self.scaler, "get_" + key, None)
            if getter:
                numbers[{"growth_factor": "growth", "backoff_factor": "backoff"}.get(key, key)] = \
                    getter()
        for name, _, parameter in self._stepped_parameters():
            for key in ("lr", "weight_decay"):
                value = self.groups.get(id(parameter), group)[key]
                if value != group[key]:
                    numbers[f"{key}.{name}"] = value
        texts = {key: float(value).hex() for key, value in numbers.items() if value is not None}
        texts.update({"halfcheck.step": "1", "optimizer": self.kind,
                      "decay": "decoupled" if decoupled else "l2",
                      "producer": "torch " + torch.__version__})
        if self.network:
            texts.update({"network": self.network, "classes": str(self.tensors["logits"][1][1])})
        if next(self.model.parameters()).is_cuda and torch.backends.cudnn.allow_tf32:
            texts["tf32"] = "1"  # PyTorch's default for convolutions
        if self.kind == "sgd":
            texts["nesterov"] = str(int(group["nesterov"]))
        texts.update({key: str(value) for key, value in self.metadata.items()})
        return texts
