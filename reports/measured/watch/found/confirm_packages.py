"""What a watch has found in packages, and not in PyTorch, by each package alone, without halfcheck.

    python3 confirm_packages.py            prints what comes, and writes confirmed_packages.txt
    python3 confirm_packages.py --print    only prints

A package that is not there is left out, with a line."""

import logging
import os
import sys
import textwrap
import warnings

import torch
from torch import nn
import torch.nn.functional as F

FINDINGS = []


def finding(take):
    FINDINGS.append(take)
    return take


@finding
def lightning_swa():
    """StochasticWeightAveraging, with batch norm: the pass that only computes statistics ends with
    a step of the optimizer, by gradients that it has used before, and the averaged weights move"""
    import lightning
    from lightning.pytorch.callbacks import Callback, StochasticWeightAveraging
    logging.disable(logging.WARNING)
    steps, averaged = [], []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))

        def training_step(self, batch, _):
            return F.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    class Listener(Callback):
        def on_train_epoch_start(self, trainer, module):
            if trainer.current_epoch == 2:  # one more than was asked for: averages are in place
                averaged.extend(p.detach().clone() for p in module.parameters())

        def on_before_optimizer_step(self, trainer, *_):
            steps.append(trainer.current_epoch)
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randint(0, 3, (16,)))
    module = Module()
    lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        callbacks=[StochasticWeightAveraging(0.1, 1), Listener()]).fit(
            module, torch.utils.data.DataLoader(data, 4))
    off = max(float((a - p).abs().max()) for a, p in zip(averaged, module.parameters()))
    return (f"lightning {lightning.__version__}",
            f"{steps.count(2)} step in that pass, after which an averaged weight is {off:.3g} off",
            steps.count(2) > 0 and off > 0)


@finding
def bitsandbytes_fp64():
    """dequantize_4bit to fp64, which Linear4bit calls for inputs in fp64, is what memory held"""
    import bitsandbytes
    torch.manual_seed(0)
    made, state = bitsandbytes.functional.quantize_4bit(torch.randn(64, 64), quant_type="nf4")
    given = made, state.absmax, state.blocksize, "nf4", state.shape
    dequantize = torch.ops.bitsandbytes.dequantize_4bit
    want = dequantize(*given, torch.float32).double()
    memory = torch.full((64, 64), 7.0, dtype=torch.float64)
    del memory
    got = dequantize(*given, torch.float64)
    return (f"bitsandbytes {bitsandbytes.__version__}",
            f"{int((got != want).sum())} of {want.numel()} numbers differ from those in fp32, "
            "of which each is one", not torch.equal(got, want))


def confirm():
    lines, shown, there = [f"PyTorch {torch.__version__}, one thread"], 0, 0
    for take in FINDINGS:
        lines += textwrap.wrap(f"{take.__name__}: {' '.join(take.__doc__.split())}", 100,
                               subsequent_indent="    ")
        try:
            package, words, confirmed = take()
        except ImportError as error:
            lines.append(f"  left out: {error}")
            continue
        there += 1
        shown += confirmed
        lines.append(f"  {package}: {words}")
    lines.append(f"{shown} of {there} are confirmed")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    said = confirm()
    print(said, end="")
    if sys.argv[1:] != ["--print"]:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "confirmed_packages.txt"),
                  "w", encoding="utf-8") as file:
            file.write(said)
