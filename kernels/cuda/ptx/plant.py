#!/usr/bin/python3
"""Plants faults in the PTX of the kernels, and sees them found: plant.py BUILD CC [--all [EVERY]]

A fault is a change of one line of BUILD/ptx/sm_80/NAME.ptx. The module is translated, compiled and
linked again with the other objects of cuda-ptx, and cases of its ops must then fail, or end the
program; or translate.py must refuse it. Without --all, PLANTED alone. With it, every line that a
row of RULES matches, or one line of EVERY: that takes hours, and prints those that nothing found.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from translate import Refused, translate

HERE = Path(__file__).resolve()
# The cases of a module's kernels; small modules first.
CASES = {
    "broadcast": ["op/gemm/fp*"],
    "window": ["op/avg_pool/*", "op/avg_pool_bwd/*", "op/im2col/*", "op/col2im/*"],
    "reduction": ["op/sum/*", "op/dot/*", "op/sum_squares/*", "op/all_reduce/*"],
    "loss": ["op/xent/*", "op/xent_bwd/*"],
    "sweep": ["bits/*/fp16", "bits/*/bf16"],
    "control": ["scaler/*", "op/clip/*", "op/rates/*", "op/step_log/*", "op/scaler_update/*",
                "op/overflow_verdict/*", "op/augment/*"],
    "conv_direct": ["op/conv2d*/fp*"],
    "elementwise": ["op/add/*", "op/sub/*", "op/mul/*", "op/div/*", "op/sqrt/*", "op/fma/*",
                    "op/axpy/*", "op/scale/*", "op/unscale/*", "op/leaky_relu*/*", "op/cast/*",
                    "op/master_to_model/*", "bits/cast/*"],
    "elementwise_fp64": ["op/add/fp64*", "op/fma/fp64*", "op/axpy/fp64*", "op/sqrt/fp64*"],
    "norm": ["op/bn_train/*", "op/bn_infer/*", "op/bn_leaky_train/*", "op/bn_leaky_infer/*"],
    "norm_bwd": ["op/bn_bwd/*", "op/bn_leaky_bwd/*"],
    "norm_ranks": ["op/bn_combine/*"],
    "quant": ["op/quantize/*", "op/dequantize/*", "op/delayed_scale/*", "rounding/stochastic/*"],
    "quant_gemm": ["op/gemm_q/*"],
    "defined_alone": ["op/gelu*/*", "op/silu*/*", "op/swiglu*/*", "op/embedding*/*",
                      "op/rotary_halves/*", "op/swap_axes/*", "op/dropout_bits/*"],
    "row_norm": ["op/rms_norm*/*", "op/layer_norm*/*", "op/add_*_norm*/*"],
    "row_softmax": ["op/softmax*/*", "op/log_softmax*/*", "op/attention_merge*/*"],
    "row_loss": ["op/cross_entropy_general*/*", "op/linear_cross_entropy*/*"],
    "row_attention": ["op/attention/*", "op/attention_backward/*", "op/attention_general*/*"],
    "optimizer": ["op/sgd/*", "op/adam/*", "op/adamw/*", "stochastic/*"],
}


class Fault(NamedTuple):
    """What stands for what, at the nth line of a module that matches."""

    old: str
    new: str
    nth: int = 0
    module: str = ""  # the first that matches


PLANTED = [
    Fault(r"bar\.sync\s+0;", "", module="loss"),
    Fault(r"bar\.sync\s+0;", "", module="reduction"),
    Fault(r"(shfl\.sync\.down\.b32\s+\S+, \S+,) \S+, ", r"\1 1, "),
    Fault(r"(shfl\.sync\.down\.b32 .*), (\S+, \S+);", r"\1, 15, -1;"),
    Fault(r"max\.f32", "min.f32", module="loss"),
    Fault(r"ex2\.approx\.ftz\.f32", "ex2.approx.f32"),
    Fault(r"0f3FB8AA3B", "0f3FB8AB3B"),  # log2(e) in expf
    Fault(r"cvt\.sat\.f32\.f32", "mov.f32"),
    Fault(r"add\.rn\.f32", "add.rn.ftz.f32"),
    Fault(r"add\.rn\.f32", "sub.rn.f32", module="window"),
    Fault(r"add\.rn\.f32", "sub.rn.f32", 1, "quant_gemm"),
    Fault(r"mul\.rn\.f32", "add.rn.f32", module="quant"),
    Fault(r"sqrt\.rn\.f32", "sqrt.approx.f32"),
    Fault(r"mul\.rn\.f32", "add.rn.f32", module="defined_alone"),
    Fault(r"bar\.sync\s+0;", "", module="row_norm"),
    Fault(r"sub\.rn\.f32", "add.rn.f32", module="row_norm"),
    Fault(r"max\.f32", "min.f32", module="row_softmax"),
    Fault(r"bar\.sync\s+0;", "", module="row_softmax"),
    Fault(r"div\.rn\.f32", "mul.rn.f32", module="row_loss"),
    Fault(r"div\.rn\.f32", "mul.rn.f32", module="row_attention"),
    Fault(r"add\.rn\.f32", "sub.rn.f32", 1, "row_attention"),
    Fault(r"@(%p\d+ bra)", r"@!\1", 1, "reduction"),
    Fault(r"cvt\.rn\.f16\.f32", "cvt.rz.f16.f32"),
    Fault(r"cvt\.rn\.f16\.f32", "cvt.rn.bf16.f32"),
    Fault(r"cvt\.f32\.f16", "cvt.f32.bf16"),
    Fault(r"(ld\.global\.v4\.\w+\s.*\[%rd\d+)(\+\d+)?\]", r"\1+4]"),
    Fault(r"(ld\.global\.v4\.\w+\s.*\[%rd\d+)(\+\d+)?\]", r"\1+16]"),
]

RULES = [
    (r"bar\.sync\s+0;", ""),
    (r"membar\.gl;", ""),
    (r"@(%p\d+ bra)", r"@!\1"),
    (r"add\.rn\.", "sub.rn."),
    (r"mul\.rn\.(f\d+)", r"add.rn.\1"),
    (r"div\.rn\.(f\d+)", r"mul.rn.\1"),
    (r"cvt\.rn\.f16\.f32", "cvt.rn.bf16.f32"),
    (r"cvt\.rn\.bf16\.f32", "cvt.rn.f16.f32"),
    (r"max\.f32", "min.f32"),
    (r"setp\.gt\.(f\d+)", r"setp.geu.\1"),
    (r"setp\.lt\.(\w+)", r"setp.le.\1"),
    (r"selp\.(\w+)(\s+\S+,) (\S+), (\S+),", r"selp.\1\2 \4, \3,"),
    (r"(ld\.global\.v[24]\.\w+ .*\[%rd\d+)(\+\d+)?\]", r"\1+4]"),
    (r"(st\.global\.\w+\s+\[%rd\d+)\]", r"\1+8]"),
    (r"shr\.u32", "shr.s32"),
    (r"(shfl\.sync\.down\.b32\s+\S+, \S+,) \S+, ", r"\1 1, "),
    (r"atom\.(global|shared)\.\w+\.\w+(\s+\S+ \[\S+\], \S+;)", r"atom.\1.or.b32\2"),
]


def changed(plant: "Plant", fault: Fault) -> Tuple[str, str]:
    """The module that gets the fault, and its text with the fault in it."""
    for module in [fault.module] if fault.module else CASES:
        text = plant.text(module)
        sites = list(re.finditer(fault.old, text))
        if fault.nth < len(sites):
            site = sites[fault.nth]
            return module, text[:site.start()] + site.expand(fault.new) + text[site.end():]
    raise ValueError(f"no {fault.module}.ptx has {fault.old} number {fault.nth}")


class Plant:
    """What one build needs to run with another module."""

    def __init__(self, build: Path, compiler: str, folder: Path) -> None:
        self.build, self.compiler, self.folder = build, compiler, folder
        self.objects = [str(path) for path in (build / "CMakeFiles/cuda-ptx.dir").rglob("*.o")]
        self.floors = [f"-I{build}/floors/{floor}"
                       for floor in ("kernels-own", "interface", "op", "num")]
        self.libraries = [str(path) for path in build.glob("libhc_*.a")]

    def text(self, module: str) -> str:
        """The PTX."""
        return (self.build / f"ptx/sm_80/{module}.ptx").read_text(encoding="ascii")

    def run(self, module: str, text: str, cases: List[str]) -> str:
        """How the cases end with this text for the module: 'passed', or what found the fault."""
        try:
            code = translate(text, module + ".ptx")
        except Refused as error:
            return f"refused: {str(error)[:100]}"
        source, plugin = self.folder / f"{module}.c", self.folder / "planted.so"
        source.write_text(code, encoding="ascii")
        others = [path for path in self.objects if not path.endswith(f"/sm_80/{module}.c.o")]
        exports = HERE.parent.parent / "device/exports.map"
        subprocess.run(
            [self.compiler, "-std=c11", "-O0", "-w", "-fPIC", "-ffp-contract=off", "-shared",
             *self.floors, str(source), *others, "-Wl,--start-group", *self.libraries,
             "-Wl,--end-group", f"-Wl,--version-script={exports}", "-o", str(plugin), "-lm"],
            check=True)
        environment = dict(os.environ, HALFCHECK_CUDA_PLUGIN=str(plugin),
                           OMP_WAIT_POLICY="passive")
        try:
            done = subprocess.run(
                [str(self.build / "halfcheck"), "run", *cases, "--backend", "cuda-ptx", "--json",
                 str(self.folder / "record")], env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "found: it does not end"
        if done.returncode == 0:
            return "passed"
        if done.returncode == 1:
            return f"found: {len(re.findall('^FAIL ', done.stdout, re.M))} cases fail"
        return "found: " + done.stdout.strip().splitlines()[-1][:100]


def every(plant: Plant, step: int) -> Iterator[Fault]:
    """One site of `step` of each rule in each module."""
    for module in CASES:
        text = plant.text(module)
        for old, new in RULES:
            for nth in range(0, len(re.findall(old, text)), step):
                yield Fault(old, new, nth, module)


def main() -> int:
    """Returns the exit status."""
    build, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    whole = sys.argv[3:4] == ["--all"]
    missed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        plant = Plant(build, compiler, Path(folder))
        faults = every(plant, int((sys.argv[4:5] or ["1"])[0])) if whole else PLANTED
        for fault in faults:
            module, text = changed(plant, fault)
            how = plant.run(module, text, CASES[module])
            count += 1
            missed += how == "passed"
            print(f"{module} {fault.old} -> {fault.new} ({fault.nth}): {how}", flush=True)
    print(f"{count - missed} of {count} planted faults found")
    return 1 if missed and not whole else 0


if __name__ == "__main__":
    sys.exit(main())
