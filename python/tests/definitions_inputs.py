"""Seeded inputs for every definition of the library, as arrays of a format's numbers.

Tensors are normal unless DRAWS says otherwise, and axes have the extents of SMALL unless EXTENTS
says otherwise. Whoever adds a definition whose inputs are indices, or must be positive, adds a row."""

import numpy as np

SMALL = {"t": 5, "u": 7, "d": 6, "e": 4, "h": 2, "n": 4, "c": 6, "i": 6, "o": 3, "j": 2, "k": 3,
         "l": 5, "g": 2, "r": 5, "s": 3, "m": 3, "b": 2, "v": 5, "p": 4, "w": 6}

EXTENTS = {
    "adam8": {"k": 2, "b": 1},
    "attention_grouped": {"h": 4}, "attention_general": {"h": 4},
    "attention_general_backward": {"h": 4}, "attention_mask": {"t": 4}, "rotary_pairs": {"d": 8},
    "rotary_halves": {"d": 8}, "linear_int4": {"i": 8, "p": 4, "g": 2}, "embedding": {"n": 6},
    "linear_fp8_blocks": {"i": 8, "p": 2, "o": 8, "b": 2}, "conv2d": {"h": 5, "r": 3},
    "router_softmax": {"e": 6}, "router_sigmoid": {"e": 6}, "router_balance_loss": {"e": 3},
    "moe_combine": {"r": 8}, "newton_schulz": {"r": 4, "c": 5}, "embedding_backward": {"n": 20},
    "conv1d_causal": {"t": 9}, "rotary_table": {"t": 6}, "max_pool2d": {"h": 5},
}


def positive(random, shape):
    return np.abs(random.normal(size=shape)) + 0.1


def unit(random, shape):
    return random.uniform(0, 1, size=shape)


def squares(random, shape):
    return random.normal(size=shape)**2 * 1e-2


def probabilities(random, shape):
    x = np.exp(random.normal(size=shape) * 2)
    return x / x.sum(-1, keepdims=True)


def logarithms(random, shape):
    return np.log(probabilities(random, shape))


def one(random, shape):
    return 1 + random.normal(size=shape) * 0.1


def rates(random, shape):
    return -positive(random, shape)


def small(random, shape):
    return random.normal(size=shape) / 5


def logits(random, shape):
    return random.normal(size=shape) * 4


def below(n, least=0):
    return lambda random, shape: random.integers(least, n, size=shape)


DRAWS = {
    "adam8": {"am": positive, "av": positive},
    "adam_l2": {"m": squares, "v": squares}, "adamw": {"m": squares, "v": squares},
    "adafactor": {"vr": positive, "vc": positive},
    "attention_backward": {"lse": lambda r, s: 3 + r.normal(size=s)},
    "attention_general_backward": {"lse": lambda r, s: 3 + r.normal(size=s)},
    "attention_alibi": {"slope": unit}, "batch_norm": {"w": one, "rv": positive},
    "batch_norm_inference": {"rv": positive}, "batch_norm_centred": {"rv": positive},
    "bce_with_logits": {"x": logits, "target": unit},
    "cross_entropy": {"z": logits}, "cross_entropy_rows": {"z": logits},
    "cross_entropy_weighted": {"z": logits, "w": positive},
    "cross_entropy_general": {"z": logits, "w": positive},
    "cross_entropy_general_backward": {"w": positive, "lse": lambda r, s: 3 + r.normal(size=s)},
    "dpo_loss": {"pw": logits, "pl": logits, "rw": logits, "rl": logits},
    "dropout": {"keep": below(2)}, "dropout_bits": {"bits": below(256)},
    "add_rms_norm_backward": {"rstd": positive}, "add_layer_norm_backward": {"rstd": positive},
    "attention_merge_backward": {"lse": lambda r, s: 3 + r.normal(size=s)},
    "embedding_backward": {"id": below(16)},
    "gated_scan": {"a": unit}, "info_nce": {"a": small, "b": small},
    "kl_div": {"x": logarithms, "target": probabilities},
    "layer_norm": {"w": one}, "layer_norm_backward": {"rstd": positive},
    "linear_int4": {"q": below(256), "scale": positive, "zero": lambda r, s: r.integers(0, 16, s)},
    "linear_int8": {"q": below(128, -127), "scale": positive},
    "linear_int8_dynamic": {"a": below(128, -127), "q": below(128, -127), "sa": positive,
                            "sq": positive},
    "linear_fp8_blocks": {"sx": positive, "sw": positive},
    "log_softmax": {"x": logits}, "log_softmax_backward": {"y": logarithms},
    "logsumexp": {"x": logits}, "rms_norm_backward": {"rstd": positive},
    "rotary_table": {"pos": below(4096), "inv": unit},
    "rotary_table_bf16": {"pos": below(4096), "inv": unit},
    "newton_schulz": {"x": small},
    "softmax": {"x": logits}, "softmax_backward": {"y": probabilities},
    "softmax_general": {"x": logits}, "softmax_general_backward": {"y": probabilities},
    "softplus": {"x": lambda r, s: r.normal(size=s) * 15},
    "ssm_scan": {"a": rates, "dt": unit}, "weight_norm": {"g": positive},
}

# An eighth of these targets is ignored.
IGNORES = ("cross_entropy", "cross_entropy_rows", "cross_entropy_smoothing", "cross_entropy_weighted",
           "cross_entropy_backward", "cross_entropy_general", "cross_entropy_general_backward",
           "linear_cross_entropy", "linear_cross_entropy_backward", "linear_cross_entropy_stored")


def inputs(definition, seed, extents=None):
    """{name: array}: fp64 numbers for tensors, int32 for indices. `extents` come before all others."""
    random = np.random.default_rng([seed, *definition.name.encode()])
    name = definition.name
    size = {**SMALL, **EXTENTS.get(name, {}), **(extents or {})}
    drawn = {}
    for tensor in definition.inputs:
        shape = tuple(size[axis] for axis in definition.axes(tensor))
        draw = DRAWS.get(name, {}).get(tensor)
        if draw:
            drawn[tensor] = draw(random, shape)
        elif definition.is_index(tensor):
            axis = definition.index_axis(tensor)
            drawn[tensor] = random.integers(0, size[axis], size=shape)
            if name in IGNORES and shape[0] > 1:
                drawn[tensor][::8] = -100
        else:
            drawn[tensor] = random.normal(size=shape)
        if definition.is_index(tensor):
            drawn[tensor] = drawn[tensor].astype(np.int32)
    return drawn
