#!/usr/bin/env python3
"""Watches eight networks in kinds of training that people use, and writes tables of it:

    PYTHONPATH=python reports/measured/watch/measure.py [judged|bits] [--models M,M] [--kinds K,K]

judged: of each model and kind of training one step, the third: the calls that make numbers, how
many of them were judged, those that were not, by name, and what was wrong. bits: whether 50 steps
have equal bits with and without a watch that takes one step of ten. What PyTorch 2.15.0 has is in
judged.txt and bits.txt."""

import argparse
import collections
import platform
import warnings

import torch

import halfcheck.torch
import kinds
import models


def stood(model, kind):
    """Why a kind of training cannot be had of a model, or None."""
    if model == "LSTM" and kind == "autocast fp16":
        return "oneDNN has no LSTM in fp16"
    return None


def watched(model, kind):
    training = kinds.Training(model, kinds.KINDS[kind])
    training.step()
    training.step()
    with halfcheck.torch.watch() as seen:
        training.step()
    return seen


def rows_of_judged(chosen_models, chosen_kinds):
    """Lines of the table, what was left out, and what was wrong, over all."""
    left, wrong = collections.Counter(), {}
    yield f"{'model':12} {'training':18} {'calls':>6} {'judged':>7} {'share':>8}  not judged"
    for kind in chosen_kinds:
        for model in chosen_models:
            if stood(model, kind):
                yield f"{model:12} {kind:18} {stood(model, kind)}"
                continue
            seen = watched(model, kind)
            rest = collections.Counter()
            for (name, why), count in seen.unjudged.items():
                rest[name] += count
                left[name, why] += count
            for row in seen.wrong():
                key = row["operator"], row["output"], row["format"]
                ratio, count, places = wrong.get(key, (0, 0, set()))
                wrong[key] = (max(ratio, row["ratio"]), count + row["wrong"],
                              places | {f"{model} {kind}"})
            yield (f"{model:12} {kind:18} {seen.made:6} {seen.asked:7} "
                   f"{100 * seen.asked / seen.made:6.1f} %  " +
                   ", ".join(f"{name} {count}" for name, count in rest.most_common())).rstrip()
    yield "\nnot judged, over all"
    for (name, why), count in left.most_common():
        yield f"  {count:4} {name}: {why}"
    yield "\nwrong, over all: the worst times its bound, the calls, the trainings"
    for (name, output, form), (ratio, count, places) in sorted(
            wrong.items(), key=lambda item: -item[1][0]):
        yield f"  {ratio:8.3g} {name}, {output}, {form}: {count} calls in {len(places)} trainings"


def weights(model, kind, every):
    """The weights after 50 steps, watched or not."""
    training = kinds.Training(model, kinds.KINDS[kind])
    if every is None:
        for _ in range(50):
            training.step()
    else:
        watch = halfcheck.torch.watch(every=every)
        with watch:
            for _ in range(50):
                training.step()
                watch.next_step()
    return [p.detach() for p in training.model.parameters()], torch.get_rng_state()


def rows_of_bits(chosen_models, chosen_kinds):
    yield f"{'model':12} {'training':18} bits after 50 steps"
    for kind in chosen_kinds:
        for model in chosen_models:
            if stood(model, kind):
                continue
            (plain, drawn), (seen, drawn_too) = (weights(model, kind, every)
                                                 for every in (None, 10))
            equal = all(torch.equal(a, b) for a, b in zip(plain, seen))
            count = sum(p.numel() for p in plain)
            yield (f"{model:12} {kind:18} {count} weights, {'equal' if equal else 'DIFFERENT'}; "
                   f"random numbers {'equal' if torch.equal(drawn, drawn_too) else 'DIFFERENT'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["judged", "bits"], nargs="?", default="judged")
    parser.add_argument("--models", default=",".join(models.MODELS))
    parser.add_argument("--kinds", default=",".join(kinds.KINDS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, Python {platform.python_version()}, "
          f"{torch.backends.cpu.get_cpu_capability()}, one thread\n")
    rows = rows_of_judged if arguments.what == "judged" else rows_of_bits
    for row in rows(arguments.models.split(","), arguments.kinds.split(",")):
        print(row, flush=True)


if __name__ == "__main__":
    main()
