"""Loss scalers in plain Python, each as its source has it: what stands between
halfcheck gen scaler/RULE and halfcheck verify scaler/RULE.

    halfcheck gen scaler/torch | python3 scalers.py torch | halfcheck verify scaler/torch

Numbers behind the rule, such as interval=2000, take the place of its own, to see what verify says of them.

The sources' max(scale / 2, 1) yields the integer 1, which doubles beyond 2^1023 where a float becomes
infinite; here it is 1.0.
"""
import math
import struct
import sys


def single(x):
    """x rounded to fp32, as torch keeps its scale."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.inf


class Fixed:
    scale, interval = 1.0, 0

    def update(self, found):
        pass


class Static(Fixed):
    scale = 512.0


class Torch:
    scale, tracker, interval = 65536.0, 0, 2000

    def update(self, found):
        if found:
            self.scale = single(self.scale * 0.5)
            self.tracker = 0
            return
        self.tracker += 1
        if self.tracker == self.interval:
            grown = single(self.scale * 2)
            self.scale = grown if math.isfinite(grown) else self.scale
            self.tracker = 0


class Fastai:
    scale, noskip, interval = 65536.0, 0, 1000

    def update(self, found):
        if found and self.scale > 1:
            self.scale /= 2
            self.noskip = 0
            return
        self.noskip += 1
        if self.noskip >= self.interval and self.scale < 2.0**24:
            self.scale *= 2
            self.noskip = 0


class Fastai2:
    scale, count, interval = 2.0**24, 0, 500

    def update(self, found):
        if found:
            self.scale /= 2
            return
        self.count += 1
        if self.count == self.interval:
            self.scale *= 2
            self.count = 0


class ApexAmp:
    scale, unskipped, interval = 65536.0, 0, 2000

    def update(self, found):
        1.0 / self.scale  # unscale's, before anything else: at scale 0 it raises
        if found:
            self.scale /= 2
            self.unskipped = 0
        else:
            self.unskipped += 1
        if self.unskipped == self.interval:
            self.scale = min(2.0**24, self.scale * 2)
            self.unskipped = 0


class ApexOld:
    scale, step, last, interval = 2.0**32, 0, -1, 1000

    def update(self, found):
        if found:
            self.scale = max(self.scale / 2, 1.0)
            self.last = self.step
        elif (self.step - self.last) % self.interval == 0:
            self.scale *= 2
        self.step += 1


class DeepSpeed:
    scale, step, last, left, interval = 65536.0, 0, -1, 2, 1000
    consecutive = False

    def due(self):
        stable = self.step - self.last - 1
        return stable > 0 and stable % self.interval == 0

    def update(self, found):
        if found:
            if self.left > 1:
                self.left -= 1
            elif self.scale == 1:
                raise RuntimeError("scale already at its minimum")
            else:
                self.scale = max(self.scale / 2, 1.0)
            self.last = self.step
        else:
            if self.consecutive:
                self.left = 2
            if self.due():
                self.left = 2
                self.scale *= 2
        self.step += 1


class DeepSpeedUpTo0170(DeepSpeed):
    def due(self):
        return (self.step - self.last) % self.interval == 0


class DeepSpeedConsecutive(DeepSpeed):
    consecutive = True


class DeepSpeedFused:
    scale, step, last, interval, floor = 65536.0, 0, -1, 1000, 1.0

    def update(self, found):
        stable = self.step - self.last - 1
        if found:
            self.scale = max(self.scale / 2, self.floor)
            self.last = self.step
        elif stable > 0 and stable % self.interval == 0:
            self.scale *= 2
        self.step += 1


class DeepSpeedUnfused(DeepSpeedFused):
    floor = 0.25


RULES = {
    "none": Fixed,
    "static": Static,
    "fastai": Fastai,
    "fastai2": Fastai2,
    "apex-fp16utils": ApexOld,
    "apex-amp": ApexAmp,
    "torch": Torch,
    "deepspeed-0.17.0": DeepSpeedUpTo0170,
    "deepspeed-0.17.1": DeepSpeed,
    "deepspeed-consecutive": DeepSpeedConsecutive,
    "deepspeed-fused": DeepSpeedFused,
    "deepspeed-unfused": DeepSpeedUnfused,
}

scaler = RULES[sys.argv[1]]()
for line in sys.stdin:
    if line.startswith("#"):
        print(line, end="")
        words = line.split()
        scaler.interval = int(words[words.index("--interval") + 1])
        scaler.scale = float.fromhex(words[words.index("--initial") + 1])
        for wrong in sys.argv[2:]:
            name, number = wrong.split("=")
            setattr(scaler, name, float(number))
        continue
    step, steps, found = line.split()
    try:
        scaler.update(not math.isfinite(float(found)))
        print(step, steps, found, float(scaler.scale).hex())
    except (RuntimeError, ZeroDivisionError):
        print(step, steps, found, "raises")
