"""The networks that halfcheck knows, as modules: Darknet as fastai's course builds it. The names
in `state_dict()` are those of step files."""

import torch
from torch import nn

# Width of the stem, blocks and strides of the groups (src/train/net/net.c).
NETWORKS = {
    "darknet16": (16, (1, 2, 2, 2, 2), (2, 1, 2, 2, 2)),
    "darknet-tiny": (4, (1, 1, 1), (2, 2, 2)),
}


def conv_layer(inputs, outputs, kernel, stride=1):
    """Convolution without bias, batch norm, leaky ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.LeakyReLU(0.1, inplace=True),
    )


class Residual(nn.Module):
    """x + a 3x3 layer of a 1x1 layer of half the width."""

    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(conv_layer(width, width // 2, 1),
                                   conv_layer(width // 2, width, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


def darknet(name: str = "darknet16", classes: int = 10) -> nn.Sequential:
    """The network of that name: "darknet16" or "darknet-tiny"."""
    width, blocks, strides = NETWORKS[name]
    layers = [conv_layer(3, width, 3)]
    for count, stride in zip(blocks, strides):
        layers.append(conv_layer(width, 2 * width, 3, stride))
        width *= 2
        layers += [Residual(width) for _ in range(count)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def layers(name: str):
    """The module paths whose outputs a step file holds, in the order of the forward pass: of each
    layer, and before it of the layer's convolution."""
    _, blocks, _ = NETWORKS[name]
    paths = ["0.0", "0"]
    at = 1
    for count in blocks:
        paths += [f"{at}.0", f"{at}"]
        for block in range(at + 1, at + 1 + count):
            paths += [f"{block}.inner.{i}{part}" for i in (0, 1) for part in (".0", "")]
            paths.append(str(block))
        at += 1 + count
    return paths + [str(at)]
