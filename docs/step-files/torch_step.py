"""A training step of PyTorch, written down for `halfcheck judge-step`."""
import torch
from halfcheck.torch.darknet import darknet
from halfcheck.torch.dump import dump_step

torch.manual_seed(0)
model = darknet("darknet-tiny", classes=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
images, labels = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))

with dump_step("torch.safetensors", model, optimizer, network="darknet-tiny", clip=1.0) as dump:
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    dump.loss(loss, labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
