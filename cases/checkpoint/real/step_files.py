"""Files between the trainer and PyTorch: step_files.py HALFCHECK FOLDER.

A state_dict or a step that torch wrote is what the trainer begins with; the weights that the trainer dumped
load strictly into torch's network, whose outputs, loss and gradients on the dumped batch are then
the trainer's; and a checkpoint holds a state_dict, too."""

import subprocess
import sys

import torch

from halfcheck import safetensors
from halfcheck.torch import darknet, dump

NAMES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
TYPES = {"F32": torch.float32, "F64": torch.float64, "I32": torch.int32, "F16": torch.float16,
         "I64": torch.int64, "U8": torch.uint8}


def load(path):
    """The tensors and the metadata of a file."""
    rows, metadata = safetensors.read(path)
    return {name: torch.frombuffer(bytearray(data), dtype=TYPES[kind]).reshape(shape)
            for name, (kind, shape, data) in rows.items()}, metadata


def save(path, state):
    """A state_dict as safetensors.torch.save_file writes it."""
    safetensors.write(path, {name: (NAMES[t.dtype], tuple(t.shape), t.numpy().tobytes())
                             for name, t in state.items()})


def train(program, folder, *options, recipe="fp32"):
    """A training of one epoch; what it says."""
    run = subprocess.run(
        [program, "train", "--recipe", recipe, "--network", "darknet-tiny", "--images", "8",
         "--batch", "16", "--epochs", "1", "--backend", "exact", "--out", folder, *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout
    return run.stdout


def state_of(tensors):
    """The state_dict in a step file or a checkpoint."""
    return {name[8:]: t for name, t in tensors.items()
            if name.startswith(("weights.", "buffers."))}


def torch_to_halfcheck(program, folder):
    """A state_dict with noise in every parameter and buffer."""
    torch.manual_seed(1)
    network = darknet.darknet("darknet-tiny")
    for tensor in network.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.rand_like(tensor))
    want = {name: t.clone() for name, t in network.state_dict().items()}
    save(f"{folder}/state.safetensors", want)
    said = train(program, f"{folder}/from", "--load", f"{folder}/state.safetensors", "--dump", "0")
    assert "begins at step 0 with its weights, buffers" in said, said
    step, _ = load(f"{folder}/from/step-0.safetensors")
    got = state_of(step)
    assert got.keys() == want.keys(), got.keys() ^ want.keys()
    for name, tensor in want.items():
        assert torch.equal(got[name].to(tensor.dtype), tensor) or "num_batches" in name, name


def torch_step_to_halfcheck(program, folder):
    """Where torch's third step begins, the trainer begins, with its weights and moments."""
    torch.manual_seed(2)
    network = darknet.darknet("darknet-tiny")
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)

    def step(context=None):
        images, labels = torch.randn(4, 3, 32, 32), torch.arange(4)
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        if context:
            context.loss(loss, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    step()
    step()
    path = f"{folder}/torch-step.safetensors"
    with dump.dump_step(path, network, optimizer, network="darknet-tiny", step=2) as context:
        step(context)
    said = train(program, f"{folder}/third", "--load", path, "--dump", "2")
    assert "begins at step 2 with its weights, optimizer.exp_avg" in said, said
    want, _ = load(path)
    got, _ = load(f"{folder}/third/step-2.safetensors")
    state = [name for name in want if name.startswith(("weights.", "buffers.", "optimizer."))]
    assert len(state) > 100, len(state)
    for name in state:
        assert torch.equal(got[name].reshape(want[name].shape).to(want[name].dtype),
                           want[name]), name


def round_constants(network):
    """Ops take their parameters in fp32, also in fp64."""
    for module in network.modules():
        for name in ("eps", "momentum", "negative_slope"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, torch.tensor(getattr(module, name)).item())


def halfcheck_to_torch(program, folder, recipe, tolerance):
    """The dumped step again, in torch. Both sum in orders of their own: in fp64 little is lost."""
    train(program, f"{folder}/{recipe}", "--dump", "3", recipe=recipe)
    step, metadata = load(f"{folder}/{recipe}/step-3.safetensors")
    network = darknet.darknet(metadata["network"], int(metadata["classes"]))
    kind = step["logits"].dtype
    network.to(kind).load_state_dict(state_of(step), strict=True)
    round_constants(network)
    outputs = {}
    for path, module in network.named_modules():
        module.register_forward_hook(
            lambda module, args, out, path=path: outputs.update({path: out.detach().clone()}))
    logits = network(step["batch.images"])
    loss = torch.nn.functional.cross_entropy(logits, step["batch.labels"].long())
    (loss * step["scale"].to(kind)).backward()
    worst = 0.0

    def compare(name, got):
        nonlocal worst
        want = step[name]
        assert want.shape == got.shape, (name, want.shape, got.shape)
        error = ((want - got).norm() / want.norm()).item()
        worst = max(worst, error)
        assert error < tolerance, f"{recipe}: {name} differs by {error:.3g}"

    compare("logits", logits.detach())
    compared = 0
    for name in step:
        if name.startswith("activations."):
            compare(name, outputs[name[len("activations."):]])
            compared += 1
    for name, parameter in network.named_parameters():
        compare("gradients." + name, parameter.grad)
        compared += 1
    for name, buffer in network.named_buffers():
        if "num_batches" not in name:
            compare("after.buffers." + name, buffer)
            compared += 1
    assert compared > 70, compared
    print(f"{recipe}: {compared} tensors of a step, the worst differs from torch's by {worst:.2g}")
    end, _ = load(f"{folder}/{recipe}/checkpoint")
    network.load_state_dict({name: t for name, t in state_of(end).items()}, strict=False)


def main():
    """Both ways."""
    program, folder = sys.argv[1:]
    torch_to_halfcheck(program, folder)
    torch_step_to_halfcheck(program, folder)
    # These limits judge no rounding (torch-gradients does, by a tolerance that it derives). They tell
    # a tensor of a wrong name, layout or step, which is off by about 1, from one that is rounded
    # otherwise: measured were 6.1e-6 and 8.7e-15.
    halfcheck_to_torch(program, folder, "fp32", 1e-4)
    halfcheck_to_torch(program, folder, "fp64", 1e-13)
    print(f"torch {torch.__version__}: state_dict and step files go both ways")


if __name__ == "__main__":
    main()
