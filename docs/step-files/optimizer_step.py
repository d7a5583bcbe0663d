"""A step of AdamW on 1,000 weights, written as a step file, with nothing but Python. It has a
mistake: the optimizer takes an eps of 1e-6."""
import array
import random
import struct

from halfcheck import safetensors

LR, BETA1, BETA2, EPS, DECAY, TAKEN = 1e-3, 0.9, 0.999, 1e-8, 0.1, 7
EPS_IN_FACT = 1e-6


def fp32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def step(w, g, m, v):
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    t = TAKEN + 1
    update = m / (1 - BETA1**t) / ((v / (1 - BETA2**t)) ** 0.5 + EPS_IN_FACT)
    return w * (1 - LR * DECAY) - LR * update, m, v


random.seed(1)
sizes = [10 ** random.uniform(-6, -1) for _ in range(1000)]
before = [(fp32(random.gauss(0, 0.1)), fp32(random.gauss(0, s)), fp32(random.gauss(0, s / 3)),
           fp32(random.uniform(0, s * s / 100))) for s in sizes]
after = [step(*row) for row in before]

tensors = {"optimizer.step": ("F32", (), struct.pack("f", TAKEN))}
for name, rows, k in (("weights.w", before, 0), ("unscaled.w", before, 1),
                      ("optimizer.exp_avg.w", before, 2), ("optimizer.exp_avg_sq.w", before, 3),
                      ("after.weights.w", after, 0), ("after.optimizer.exp_avg.w", after, 1),
                      ("after.optimizer.exp_avg_sq.w", after, 2)):
    tensors[name] = "F32", (len(rows),), array.array("f", [row[k] for row in rows]).tobytes()

safetensors.write("adamw.safetensors", tensors, {
    "halfcheck.step": "1", "optimizer": "adamw", "lr": LR.hex(), "beta1": BETA1.hex(),
    "beta2": BETA2.hex(), "eps": EPS.hex(), "weight_decay": DECAY.hex()})
