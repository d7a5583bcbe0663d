"""One training step of small networks in jax, in several formats, each of them watched.

    python3 steps_jax.py [NAME...]     prints what the watch says, in short

A package that is not there is left out, with a line."""

import sys

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax

import halfcheck.jax

NETWORKS = {}


def network(make):
    """Takes a network into the list: a function of a format, which returns parameters and a
    loss."""
    NETWORKS[make.__name__] = make
    return make


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f")


def weights(low, **shapes):
    return {name: jnp.asarray(numbers(*shape, seed=i) / np.sqrt(shape[0]), low)
            for i, (name, shape) in enumerate(shapes.items())}


def picked(z, ids):
    return -jnp.take_along_axis(jax.nn.log_softmax(z), ids[..., None], -1).mean()


@network
def gpt(low):
    """Causal attention, layer norm and gelu, by hand."""
    p = weights(low, e=(64, 32), qkv=(32, 96), o=(32, 32), up=(32, 64), down=(64, 32))
    ids = jnp.asarray(np.random.default_rng(0).integers(0, 64, (4, 24)))

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(p):
        x = p["e"][ids]
        for name in ("first", "second"):
            with jax.named_scope(name):
                q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(4, 24, 12, 8), 3, 2)
                s = jnp.einsum("bthd,buhd->bhtu", q, k) / np.sqrt(8).astype(low)
                s = jnp.where(jnp.tril(jnp.ones((24, 24), bool)), s, -jnp.inf)
                x = x + jnp.einsum("bhtu,buhd->bthd", jax.nn.softmax(s), v).reshape(
                    x.shape) @ p["o"]
                x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
        return picked(norm(x) @ p["e"].T, ids)
    return p, loss


@network
def convolutions(low):
    """Convolutions, plain and with strides, batch norm, relu and pooling."""
    p = {"a": jnp.asarray(numbers(3, 3, 3, 8) / 5, low),
         "b": jnp.asarray(numbers(3, 3, 8, 8, seed=1) / 8, low),
         **weights(low, out=(8, 10))}
    x, ids = jnp.asarray(numbers(8, 12, 12, 3, seed=2), low), jnp.arange(8)

    def norm(x):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * lax.rsqrt(var + 1e-5)

    def loss(p):
        y = x
        for name, stride in (("a", 1), ("b", 2)):
            with jax.named_scope(name):
                y = jax.nn.relu(norm(lax.conv_general_dilated(
                    y, p[name], (stride, stride), "SAME",
                    dimension_numbers=("NHWC", "HWIO", "NHWC"))))
        return picked(y.mean((1, 2)) @ p["out"], ids)
    return p, loss


@network
def recurrent(low):
    """An LSTM by scan."""
    p = weights(low, w=(16, 128), u=(32, 128), out=(32, 10))
    x, ids = jnp.asarray(numbers(12, 6, 16), low), jnp.arange(6)

    def loss(p):
        def turn(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ p["w"] + h @ p["u"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
        zero = jnp.zeros((6, 32), low)
        (h, _), _ = lax.scan(turn, (zero, zero), x)
        return picked(h @ p["out"], ids)
    return p, loss


@network
def experts(low):
    """Two of four experts for each token, rotary angles, and an RMS norm."""
    p = weights(low, gate=(16, 4), out=(16, 16))
    p["up"] = jnp.asarray(numbers(4, 16, 32, seed=5) / 4, low)
    p["down"] = jnp.asarray(numbers(4, 32, 16, seed=6) / 6, low)
    x, want = jnp.asarray(numbers(24, 16, seed=7), low), jnp.asarray(numbers(24, 16, seed=8), low)

    def loss(p):
        y = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        angle = jnp.arange(24.0)[:, None] / 100.0 ** (jnp.arange(8) / 8)
        a, b = jnp.split(y, 2, -1)
        c, s = jnp.cos(angle).astype(low), jnp.sin(angle).astype(low)
        y = jnp.concatenate([a * c - b * s, a * s + b * c], -1)
        share, which = lax.top_k(jax.nn.softmax(y @ p["gate"]), 2)
        share = share / share.sum(-1, keepdims=True)
        made = jnp.einsum("tkh,tkhd->tkd", jax.nn.silu(jnp.einsum(
            "td,tkdh->tkh", y, p["up"][which])), p["down"][which])
        return (((share[..., None] * made).sum(1) @ p["out"] - want) ** 2).mean()
    return p, loss


@network
def flax_linen(low):
    """A network of flax, whose parameters are fp32, and which computes in the format."""
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.GroupNorm(2, dtype=low)(nn.Conv(8, (3, 3), dtype=low)(x)))
            x = nn.max_pool(x, (2, 2), (2, 2)).reshape(len(x), 16, -1)
            x = x + nn.SelfAttention(4, dtype=low)(nn.LayerNorm(dtype=low)(x))
            return nn.Dense(10, dtype=low)(x.mean(1)).astype(jnp.float32)
    net, x = Net(), jnp.asarray(numbers(4, 8, 8, 3))
    return net.init(jax.random.key(0), x), lambda p: picked(net.apply(p, x), jnp.arange(4))


@network
def equinox_mlp(low):
    import equinox
    net = equinox.nn.MLP(16, 10, 32, 2, key=jax.random.key(0))
    p, rest = equinox.partition(net, equinox.is_array)
    x = jnp.asarray(numbers(24, 16), low)
    p = jax.tree.map(lambda leaf: leaf.astype(low), p)
    return p, lambda p: picked(jax.vmap(equinox.combine(p, rest))(x), jnp.arange(24) % 10)


def seen_of(name, low):
    """One step of AdamW, by optax where it is there, and of momentum otherwise."""
    p, loss = NETWORKS[name](low)
    try:
        import optax
        made = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
        state = made.init(p)

        def step(p, state):
            value, g = jax.value_and_grad(loss)(p)
            update, state = made.update(g, state, p)
            return optax.apply_updates(p, update), state, value
    except ImportError:
        state = jax.tree.map(jnp.zeros_like, p)

        def step(p, state):
            value, g = jax.value_and_grad(loss)(p)
            state = jax.tree.map(lambda m, g: 0.9 * m + g, state, g)
            return jax.tree.map(lambda p, m: p - 0.1 * m, p, state), state, value
    watched = halfcheck.jax.watch(jax.jit(step))
    watched(p, state)
    return watched.seen


def main(names):
    print(f"jax {jax.__version__}, {jax.default_backend()}")
    for name in names or NETWORKS:
        for low in ("float32", "bfloat16", "float16"):
            try:
                seen = seen_of(name, jnp.dtype(low))
            except ImportError as error:
                print(f"{name}: left out: {error}")
                break
            share = 100 * seen.asked / max(seen.made, 1)
            print(f"{name}, {low}: {seen.made} equations, {seen.asked} of them judged "
                  f"({share:.1f} %)")
            said = str(seen).split("\n")
            for line in said:
                if " times its bound  " in line or line.startswith("first "):
                    print("  " + line.strip().replace(" its bound ", ""))
            for words in [*seen.misused, *seen.gradients, *seen.coarse]:
                print(f"  {words}")
            for (operator, why), count in seen.unjudged.most_common():
                print(f"  not judged: {operator} {count}, {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
