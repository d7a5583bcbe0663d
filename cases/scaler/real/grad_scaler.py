"""torch's own GradScaler on the CPU, between halfcheck gen and halfcheck verify (torch 2.3 or newer).

    halfcheck gen scaler/torch --interval 20 | python3 grad_scaler.py 20 | halfcheck verify scaler/torch
"""
import sys
import torch

weight = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([weight], lr=0.0)
interval = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
scaler = torch.amp.GradScaler("cpu", growth_interval=interval)
assert scaler.is_enabled()  # torch.cuda.amp.GradScaler() is not where there is no GPU
scaler.scale(torch.zeros(1))  # its scale is made at the first call
for line in sys.stdin:
    if line.startswith("#"):
        print(line, end="")
        continue
    step, steps, found = line.split()
    weight.grad = torch.full_like(weight, float(found))
    scaler.step(optimizer)
    scaler.update()
    print(step, steps, found, scaler.get_scale().hex())
