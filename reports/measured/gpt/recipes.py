#!/usr/bin/env python3
"""What each recipe costs the small GPT: 300 steps on a text, with several seeds.

usage: recipes.py PROGRAM TEXT FOLDER [--seeds 1,2,3]    train what FOLDER has not yet
       recipes.py --table FOLDER                         print the table of what FOLDER has

A run is a process of one thread, and its seconds are the processor's, so that other work on the
machine changes its rate only by way of caches. A recipe's seeds are trained one after the other; an
interrupted call goes on where it was, to the same bits. FOLDER/runs.csv gets a line for each run.
The table pairs runs by seed: both have the same first weights and pieces of text. Its intervals are
Student's, 95 %, of means over the seeds.
"""

import csv
import json
import math
import os
import resource
import subprocess
import sys
import textwrap

RECIPES = """fp32 amp-bf16 amp bf16-pure fp8-te-delayed mxfp8-rp nvfp4 nvfp4+plain_ends=1 bf16-kahan
bf16-sr fp8-te-current mxfp8-floor fp8-deepgemm amp+scaler=static+loss_scale=1024 fp32+eps=1e-5
fp32+beta2=0.999 fp32+clip=0 fp16-bn32 fp8-te-block fp8-torchao-rowwise tf32 fp16-pure fp64""".split()
COLUMNS = ("recipe seed test_loss steps skipped final_scale underflow activation_underflow "
           "updates_lost learned seconds tokens_per_second commit cpu").split()
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # of 95 %, 1 to 9 degrees


def train(program, text, folder, recipe, seed):
    """Train one recipe with one seed, and return its line."""
    out = os.path.join(folder, f"{recipe}-seed{seed}")
    resumed = os.path.exists(os.path.join(out, "checkpoint"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "train", "--network", "gpt", "--recipe", recipe, "--data", text,
                    "--seed", str(seed), "--threads", "1", "--measure-every", "10",
                    "--checkpoint-every", "100", "--out", out] + ["--resume"] * resumed,
                   stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as f:
        record = json.load(f)
    run, environment = record["training"], record["environment"]
    if not run["finished"]:
        sys.exit(f"{out} has not finished")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    line = {k: run.get(k) for k in COLUMNS} | {"recipe": recipe, "seed": seed}
    line["commit"], line["cpu"] = environment["commit"], environment["cpu"]
    if not resumed:  # part of a run has no rate
        line["seconds"] = f"{seconds:.1f}"
        line["tokens_per_second"] = f"{run['steps'] * run['batch'] * 128 / seconds:.0f}"
    return line


def read(folder):
    """Return the lines of runs.csv."""
    path = os.path.join(folder, "runs.csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def interval(values):
    """Return the mean and half of its 95 % interval."""
    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return mean, math.nan
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, STUDENT[n - 2] * deviation / math.sqrt(n)


def table(folder):
    """Print a row for each recipe: its test loss, its distance from fp32, what was lost, its rate."""
    lines = read(folder)
    base = {r["seed"]: float(r["test_loss"]) for r in lines if r["recipe"] == "fp32"}
    print(f"{'recipe':18} seeds  test loss        against fp32      skips  dW = 0 %  lost %  "
          "tokens/s")
    left = []
    for recipe in RECIPES:
        runs = [r for r in lines if r["recipe"] == recipe]
        if len(runs) < 3:
            left.append(recipe)
            continue
        if any(r["learned"] != "True" for r in runs):
            print(f"{recipe:18} {len(runs):5}  does not learn")
            continue
        loss, loss_radius = interval([float(r["test_loss"]) for r in runs])
        apart, apart_radius = interval([float(r["test_loss"]) - base[r["seed"]] for r in runs
                                        if r["seed"] in base])
        against = "" if recipe == "fp32" else f"{apart:+.3f} +- {apart_radius:.3f}"
        rate = max(float(r["tokens_per_second"] or 0) for r in runs)
        mean = {k: 100 * math.fsum(float(r[k]) for r in runs) / len(runs)
                for k in ("underflow", "updates_lost")}
        skips = sum(int(r["skipped"]) for r in runs)
        print(f"{recipe:18} {len(runs):5}  {loss:.3f} +- {loss_radius:.3f}  {against:16}"
              f"  {skips:5}  {mean['underflow']:8.2g}  {mean['updates_lost']:6.2g}  {rate:8.0f}")
    if left:
        print(textwrap.fill("fewer than three seeds, or none: " + ", ".join(left), 90,
                            subsequent_indent="  ", break_on_hyphens=False))


def main(arguments):
    """Run what the arguments ask for."""
    if arguments[:1] == ["--table"] and len(arguments) == 2:
        return table(arguments[1])
    if len(arguments) not in (3, 5) or arguments[3:4] not in ([], ["--seeds"]):
        sys.exit(__doc__)
    program, text, folder = arguments[:3]
    seeds = arguments[4].split(",") if len(arguments) == 5 else ["1", "2", "3"]
    os.makedirs(folder, exist_ok=True)
    for recipe in RECIPES:
        for seed in seeds:
            if any(r["recipe"] == recipe and r["seed"] == seed for r in read(folder)):
                continue
            line = train(program, text, folder, recipe, seed)
            path = os.path.join(folder, "runs.csv")
            new = not os.path.exists(path)
            with open(path, "a", encoding="utf-8", newline="") as f:
                writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(line)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
