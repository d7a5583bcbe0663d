"""A training step of darknet-tiny in numpy: forward, loss, backward, unscaling, AdamW, loss scale.

It is written from the contracts (src/op/*.h, kernels/element/adam.h, docs/step-files.md), and calls
nothing of halfcheck. The backend `exact` states the order of every sum, which the contracts leave
free (at the head of its files in kernels/exact/), and so all tensors here but two have one right
value, to the last bit. exp and log may be off by 2 ulp. So the loss and its gradient by the logits
lie in intervals that are derived here, and the step goes on with the numbers in them that the
program found.

A number of any format is held in fp32, which has them all; how it was rounded says to which format
it belongs. Images are [N, H, W, C], and filters [K, R, S, C]. `see` gets every tensor of the step
under the name that a step file has for it. `choose` gets an interval for each element of a tensor,
and gives the numbers to go on with."""

import numpy as np

F32, F64 = np.float32, np.float64
EPS, MOMENTUM, SLOPE = F32(1e-5), F32(0.1), F32(0.1)  # of batch norm and leaky ReLU
MAX = np.finfo(F32).max

# What the network is made of: (module, kernel, stride). A residual module, here without a kernel,
# adds to its input what its inner modules make of it.
MODULES = [("0", 3, 1), ("1", 3, 2), ("2", 0, 0), ("3", 3, 2), ("4", 0, 0), ("5", 3, 2),
           ("6", 0, 0)]
INNER = [("{}.inner.0", 1, 1), ("{}.inner.1", 3, 1)]
POOL, LINEAR = "7", "9"
CONVS = ["0", "1", "2.inner.0", "2.inner.1", "3", "4.inner.0", "4.inner.1", "5", "6.inner.0",
         "6.inner.1"]
QUANTISED = CONVS[1:]


# Numbers

def nearest(x, precision, emin, largest, saturate=False):
    """fp32 numbers, rounded to the nearest of a format, ties to even. The quotient and the product
    by an ulp, a power of two, are exact."""
    x = np.asarray(x, F32)
    _, exponent = np.frexp(x)  # x = [0.5, 1) * 2^exponent
    ulp = np.ldexp(F32(1), np.maximum(exponent - 1, emin) - (precision - 1))
    y = np.rint(x / ulp) * ulp
    beyond = largest if saturate else np.inf
    return np.where(np.abs(y) > largest, np.copysign(F32(beyond), y), y)


def fp32(x):
    return np.asarray(x, F32)


def fp16(x):
    return nearest(x, 11, -14, 65504)


def bf16(x):
    return nearest(x, 8, -126, MAX)


def e4m3(x):
    return nearest(x, 4, -6, 448, saturate=True)


def e5m2(x):
    return nearest(x, 3, -14, 57344, saturate=True)


def in_order(terms, axis):
    """A sum in fp32 that begins with +0 and takes one term after the other."""
    return np.add.accumulate(terms, axis=axis, dtype=F32).take(-1, axis=axis) + F32(0)


def fma(a, b, c):
    """a b + c, rounded once into fp32. The product is exact in fp64. There the sum is rounded to
    odd (an inexact sum gets an odd last bit), and to round that to 24 of its 53 bits gives what
    rounding the exact sum gives."""
    product, c = a.astype(F64) * F64(b), c.astype(F64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)  # exact
    even = total.view(np.int64) % 2 == 0
    odd = np.nextafter(total, np.copysign(np.inf, error))
    return fp32(np.where((error != 0) & even, odd, total))


# Convolutions

class Window:
    """Where the filter's taps lie: meets[o, t] is the input pixel that tap t meets at output pixel
    o, back[i, t] the output pixel at which tap t meets input pixel i; -1: none."""

    def __init__(self, side, kernel, stride):
        out, at = (side - 1) // stride + 1, np.arange(kernel) - kernel // 2
        row = np.arange(out)[:, None] * stride + at  # [P, R]
        inside = (row >= 0) & (row < side)
        h, w = row[:, None, :, None], row[None, :, None, :]
        both = inside[:, None, :, None] & inside[None, :, None, :]
        self.meets = np.where(both, h * side + w, -1).reshape(out * out, kernel * kernel)
        self.back = np.full((side * side, kernel * kernel), -1)
        o, t = np.nonzero(self.meets >= 0)
        self.back[self.meets[o, t], t] = o
        self.out = out


def gather(pixels, index):
    """pixels [N, I, C] at index [O, T], as [N, O, T, C], with 0 where there is none; and where
    there is one, since a product with a pixel that is none is no term, not even 0 * inf."""
    there = (index >= 0)[None, :, :, None]
    return np.where(there, pixels[:, index], F32(0)), there


def columns_of(x, window):
    """The op im2col: a row for each output pixel, and what each tap meets there."""
    columns, there = gather(x.reshape(len(x), -1, x.shape[3]), window.meets)
    shape = (columns.shape[0] * columns.shape[1], -1)
    return columns.reshape(shape), np.broadcast_to(there, columns.shape).reshape(shape)


def convolve(x, w, window):
    """Terms in the order r, s, c."""
    columns, there = columns_of(x, window)
    taps = w.reshape(len(w), -1).T
    y = in_order(np.where(there[:, :, None], columns[:, :, None] * taps, F32(0)), 1)
    return y.reshape(len(x), window.out, window.out, len(w))


def convolve_to_filter(x, dy, w, window):
    """Terms in the order n, p, q."""
    columns, there = columns_of(x, window)
    dy = dy.reshape(-1, dy.shape[3], 1)
    return in_order(np.where(there[:, None], dy * columns[:, None], F32(0)), 0).reshape(w.shape)


def convolve_to_input(x, dy, w, window):
    """Terms in the order r, s, k."""
    filters, channels = len(w), w.shape[3]
    dy, there = gather(dy.reshape(len(dy), -1, filters), window.back)  # [N, I, T, K]
    taps = w.reshape(filters, -1, channels).transpose(1, 0, 2)  # [T, K, C]
    terms = np.where(there[..., None], dy[..., None] * taps, F32(0))
    return in_order(terms.reshape(*terms.shape[:2], -1, channels), 2).reshape(x.shape)


# The same below half: products of codes

def product(a, b, scale_a, scale_b, promote=None):
    """The op gemm_q: a [M, K] times b' [N, K], both codes. A sum of products is decoded by both
    scales; every `promote` terms another sum begins, which is added to those before."""
    decode_a, decode_b = F32(1) / scale_a, F32(1) / scale_b
    length = a.shape[1]
    promote = promote or length
    total = np.zeros((len(a), len(b)), F32)
    for begin in range(0, length, promote):
        piece = slice(begin, begin + promote)
        terms = a[:, piece, None] * b[:, piece].T
        if promote >= length:
            return in_order(terms, 1) * decode_a * decode_b
        total = fma(in_order(terms, 1) * decode_a, decode_b, total)
    return total


def next_scales(amax, history, scale, largest):
    """The rule te-delayed: the scale takes the largest amax in the window to the largest code. An
    amax of 0 is that of an idle tensor, which keeps what it has."""
    last = np.where(amax != 0, amax, history[0])
    most = np.fmax.reduce(np.concatenate([last[None], history[1:]]))
    moves = last != 0
    rolled = np.concatenate([history[1:], last[None]])
    rolled[0] = 0
    usable = moves & np.isfinite(most) & (most > 0)
    fresh = np.where(usable, F32(largest) / most, scale)
    return np.where(moves, rolled, history), np.where(np.isinf(fresh), MAX, fresh)


# The loss

U = 2.0**-24


def exponentials(logits):
    """z - max z, its softmax in fp64, and by how much a softmax in fp32 may be off, relative.

    d = z - max z is rounded once, which moves exp(d) by |d| u, and exp is off by 2 ulp, which are
    4 u where it is not subnormal. All terms of the sum are positive, so that it inherits the
    largest of these errors and has C - 1 of its own; the quotient has one more. Products of errors
    are 2^-10 of the whole at most, since all of them together are less than 2^13 u."""
    z = logits.astype(F64)
    d = z - z.max(axis=1, keepdims=True)
    assert d.min() > -80
    s = np.exp(d).sum(axis=1, keepdims=True)
    of_exp = (np.abs(d) + 4) * U
    of_sum = of_exp.max(axis=1, keepdims=True) + (z.shape[1] - 1) * U
    return d, s, np.exp(d) / s, (of_exp + of_sum + U) * (1 + 2**-10), of_sum * (1 + 2**-10)


def loss_between(logits, labels):
    """log s - d at the label, as a mean. A relative error of s moves its logarithm by as much; log
    is off by 2 ulp; d and the difference are rounded. The sum over the rows, of terms that are not
    negative, has N - 1 roundings, and the quotient one."""
    d, s, _, _, of_sum = exponentials(logits)
    at = d[np.arange(len(d)), labels][:, None]
    rows = np.log(s) - at
    error = of_sum + (4 * np.abs(np.log(s)) + np.abs(at) + rows) * U
    loss, n = rows.mean(), len(rows)
    error = (error.mean() + n * U * loss) * (1 + 2**-10)
    return fp32(loss - error), fp32(loss + error)


def logits_gradient_between(logits, labels, scale, rounded):
    """(softmax - onehot) * scale / N: three roundings behind that of softmax, then that into the
    format. Rounding is monotonic, so the ends of the interval are rounded, too."""
    _, _, p, of_p, _ = exponentials(logits)
    onehot = np.arange(p.shape[1]) == labels[:, None]
    factor = F64(scale) / len(p)
    want = (p - onehot) * factor
    error = (p * of_p + 3 * U * np.abs(p - onehot)) * factor * (1 + 2**-10)
    return rounded(fp32(want - error)), rounded(fp32(want + error))


# The optimizer

def beta_power(beta, t):
    """beta^t by squaring, each product rounded to fp64."""
    power = 1.0
    while t:
        power = power * beta if t % 2 else power
        beta, t = beta * beta, t // 2
    return power


def adamw(w, g, m, v, t, lr, beta1, beta2, eps, decay):
    """Every coefficient is computed in fp64 and rounded once, and so is every operation in fp32."""
    correction = fp32(np.sqrt(1 - beta_power(beta2, t)))
    step = fp32(lr / (1 - beta_power(beta1, t)))
    w = w * fp32(1 - lr * decay)
    m = fp32(beta1) * m + fp32(1 - beta1) * g
    v = fp32(beta2) * v + fp32(1 - beta2) * g * g
    return w - step * (m / (np.sqrt(v) / correction + fp32(eps))), m, v


def is_norm(parameter):
    """Batch norm's parameters are in fp32, whatever the model's format is."""
    return parameter.split(".")[-2] == "1"


class Step:
    """One step. `state` is what is kept from one step to the next, under the names of a step file;
    run makes the next step's of it. `rounded` rounds into the model's format."""

    def __init__(self, state, rounded, see, choose):
        self.state, self.rounded, self.see, self.choose = state, rounded, see, choose
        self.quantised = "quant.forward.scale" in state
        self.kept, self.gradient, self.amax = {}, {}, {}
        self.parameters = [name[len("weights."):] for name in state if name.startswith("weights.")]

    def run(self, images, labels, rates, scaler):
        """`rates` are lr, beta1, beta2, eps and decay, as the optimizer takes them. `scaler` has
        growth, backoff and interval, or is None."""
        for name, value in self.state.items():
            self.see(name, value)
        logits = self.forward(images)
        self.choose("loss", *loss_between(logits, labels))
        self.backward(self.choose("activation_gradients.logits", *logits_gradient_between(
            logits, labels, self.state["scale"], self.rounded)))
        for name in self.parameters:
            self.see("gradients." + name, self.gradient[name])
        if self.quantised:
            self.scale_codes()
        found = self.unscale(scaler)
        if not found:
            self.optimize(rates)
        self.count(found, scaler)
        for name, value in self.state.items():
            self.see("after." + name, value)

    # Forward

    def forward(self, x):
        for module, kernel, stride in MODULES:
            if kernel:
                x = self.conv_layer(module, kernel, stride, x)
            else:
                skip = x
                for inner, kernel, stride in INNER:
                    x = self.conv_layer(inner.format(module), kernel, stride, x)
                x = self.rounded(x + skip)
                self.see("activations." + module, x)
        self.last, window = x, x.shape[1] * x.shape[2]
        pooled = self.rounded(in_order(x.reshape(len(x), window, -1), 1) / F32(window))
        self.see("activations." + POOL, pooled[:, None, None])
        self.pooled = pooled
        w, bias = (self.state[f"weights.{LINEAR}.{name}"] for name in ("weight", "bias"))
        logits = self.rounded(in_order(pooled[:, :, None] * w.T, 1) + bias)
        self.see("logits", logits)
        return logits

    def conv_layer(self, module, kernel, stride, x):
        """Convolution, batch norm over N, H and W, leaky ReLU."""
        window = Window(x.shape[1], kernel, stride)
        quantised = self.quantised and module in QUANTISED
        y = (self.convolve_codes if quantised else self.convolve)(module, x, window)
        self.see(f"activations.{module}.0", y)
        out = self.normalise(module, y)
        self.kept[module] = (x, window, y, out)
        self.see("activations." + module, out)
        return out

    def convolve(self, module, x, window):
        return self.rounded(convolve(x, self.state[f"weights.{module}.0.weight"], window))

    def normalise(self, module, y):
        gamma, beta = (self.state[f"weights.{module}.1.{name}"] for name in ("weight", "bias"))
        rows = y.reshape(-1, y.shape[3])
        count = F32(len(rows))
        mean = in_order(rows, 0) / count
        squares = in_order((rows - mean) * (rows - mean), 0)
        invstd = F32(1) / np.sqrt(squares / count + EPS)
        self.kept[module + ".1"] = mean, invstd
        self.see(f"saved.{module}.1.mean", mean)
        self.see(f"saved.{module}.1.invstd", invstd)
        self.run_along(module, "running_mean", mean)
        self.run_along(module, "running_var", squares / (count - F32(1)))
        z = self.rounded((y - mean) * invstd * gamma + beta)
        return np.where(z > 0, z, self.rounded(SLOPE * z))

    def run_along(self, module, name, batch):
        name = f"buffers.{module}.1.{name}"
        running = self.state[name]
        self.state[name] = running + MOMENTUM * (batch - running)

    # Backward

    def backward(self, dy):
        w = self.state[f"weights.{LINEAR}.weight"]
        self.gradient[f"{LINEAR}.weight"] = self.rounded(
            in_order(dy[:, :, None] * self.pooled[:, None], 0))
        self.gradient[f"{LINEAR}.bias"] = self.rounded(in_order(dy, 0))
        dy = self.rounded(in_order(dy[:, :, None] * w, 1))
        self.see("activation_gradients." + POOL, dy[:, None, None])
        window = self.last.shape[1] * self.last.shape[2]
        dy = np.broadcast_to(self.rounded(dy / F32(window))[:, None, None], self.last.shape)
        for module, kernel, _ in reversed(MODULES):
            if kernel:
                dy = self.conv_layer_back(module, dy)
            else:
                self.see("activation_gradients." + module, dy)
                skip = dy
                for inner, _, _ in reversed(INNER):
                    dy = self.conv_layer_back(inner.format(module), dy)
                dy = self.rounded(skip + dy)

    def conv_layer_back(self, module, dy):
        self.see("activation_gradients." + module, dy)
        x, window, _, _ = self.kept[module]
        dy = self.normalise_back(module, dy)
        self.see(f"activation_gradients.{module}.0", dy)
        if self.quantised and module in QUANTISED:
            return self.convolve_codes_back(module, x, dy, window)
        w = self.state[f"weights.{module}.0.weight"]
        self.gradient[module + ".0.weight"] = self.rounded(convolve_to_filter(x, dy, w, window))
        return None if module == "0" else self.rounded(convolve_to_input(x, dy, w, window))

    def normalise_back(self, module, dy):
        _, _, y, out = self.kept[module]
        mean, invstd = self.kept[module + ".1"]
        gamma = self.state[f"weights.{module}.1.weight"]
        dz = np.where(out > 0, dy, self.rounded(SLOPE * dy))
        xhat = (y - mean) * invstd
        channels = y.shape[3]
        count = F32(y.size // channels)
        dbeta = in_order(dz.reshape(-1, channels), 0)
        dgamma = in_order((dz * xhat).reshape(-1, channels), 0)
        self.gradient[module + ".1.weight"] = dgamma
        self.gradient[module + ".1.bias"] = dbeta
        return self.rounded(gamma * invstd * ((dz - dbeta / count) - xhat * (dgamma / count)))

    # Convolutions below half

    def coded(self, operand, module, x, codes):
        """The codes of a tensor, under the scale that the steps before have made for it, and that
        scale. The tensor's amax is for the next steps."""
        place = QUANTISED.index(module) + (len(QUANTISED) if operand == "w" else 0)
        group = "backward" if operand == "dy" else "forward"
        scale = self.state[f"quant.{group}.scale"][place]
        self.amax[group, place] = np.fmax.reduce(np.abs(x), axis=None)
        return codes(x * scale), scale

    def master(self, module):
        """A filter as the optimizer has it, of which codes are made."""
        model = self.state[f"weights.{module}.0.weight"]
        return self.state.get(f"masters.{module}.0.weight", model)

    def convolve_codes(self, module, x, window):
        w = self.master(module)
        columns, _ = columns_of(x, window)
        a, scale_a = self.coded("x", module, columns, e4m3)
        b, scale_b = self.coded("w", module, w.reshape(len(w), -1), e4m3)
        y = self.rounded(product(a, b, scale_a, scale_b))
        return y.reshape(len(x), window.out, window.out, len(w))

    def convolve_codes_back(self, module, x, dy, window):
        """The gradient of the columns is in fp32; the op col2im adds up those of a pixel, in the
        order of taps. Each factor has its inner dimension behind."""
        w = self.master(module)
        columns, _ = columns_of(x, window)
        a, scale_a = self.coded("dy", module, dy.reshape(-1, len(w)), e5m2)
        b, scale_b = self.coded("x", module, columns, e4m3)
        dw = product(a.T, b.T, scale_a, scale_b, promote=128)
        self.gradient[module + ".0.weight"] = self.rounded(dw).reshape(w.shape)
        b, scale_b = self.coded("w", module, w.reshape(len(w), -1), e4m3)
        back = product(a, b.T, scale_a, scale_b, promote=128)
        back = back.reshape(len(x), -1, window.back.shape[1], x.shape[3])  # [N, O, T, C]
        terms = np.stack([gather(back[:, :, t], window.back[:, t:t + 1])[0][:, :, 0]
                          for t in range(back.shape[2])], axis=2)
        return self.rounded(in_order(terms, 2)).reshape(x.shape)

    def scale_codes(self):
        for group, largest in (("forward", 448), ("backward", 57344)):
            names = f"quant.{group}.amax_history", f"quant.{group}.scale"
            history, scale = (self.state[name] for name in names)
            amax = np.array([self.amax[group, place] for place in range(len(scale))], F32)
            self.state.update(zip(names, next_scales(amax, history, scale, largest)))

    # Update

    def unscale(self, scaler):
        """Whether a gradient is infinite or NaN is asked before the division. The reciprocal of the
        scale is rounded once, and then each product."""
        found = any(not np.isfinite(g).all() for g in self.gradient.values())
        reciprocal = fp32(1 / F64(self.state["scale"]))
        for name in self.parameters:
            if scaler:
                self.gradient[name] = self.gradient[name] * reciprocal
            self.see("unscaled." + name, self.gradient[name])
        if scaler:
            self.see("found_inf", F32(found))
        return bool(found and scaler)

    def optimize(self, rates):
        """The optimizer works on masters, where there are any; then the model gets a copy."""
        t = int(self.state["optimizer.step"]) + 1
        for name in self.parameters:
            keys = ["masters." + name, f"optimizer.exp_avg.{name}", f"optimizer.exp_avg_sq.{name}"]
            if keys[0] not in self.state:
                keys[0] = "weights." + name
            w, m, v = (self.state[key] for key in keys)
            new = adamw(w, self.gradient[name], m, v, t, **rates)
            self.state.update(zip(keys, new))
            self.state["weights." + name] = new[0] if is_norm(name) else self.rounded(new[0])

    def count(self, found, scaler):
        """Also the scale of the next step: GradScaler's rule."""
        state, scale = self.state, self.state["scale"]
        state["counts.steps"] += 1
        for name in CONVS:
            state[f"buffers.{name}.1.num_batches_tracked"] += 1
        if found:
            state["counts.found"] += 1
            state["counts.skipped"] += 1
            state["scaler.growth_tracker"] = 0
            state["scale"] = scale * fp32(scaler["backoff"])
            return
        state["optimizer.step"] += 1
        state["scaler.growth_tracker"] += 1
        if scaler and state["scaler.growth_tracker"] == scaler["interval"]:
            state["scaler.growth_tracker"] = 0
            grown = scale * fp32(scaler["growth"])
            state["scale"] = grown if np.isfinite(grown) else scale


def first_state(weights, masters, rounded, scale, history):
    """What a training begins with: these parameters, in fp32; and history, the steps that delayed
    scaling remembers, or 0."""
    state = {}
    for name, w in weights.items():
        state["weights." + name] = w if is_norm(name) else rounded(w)
        state.update({"masters." + name: w} if masters else {})
        state["optimizer.exp_avg." + name] = np.zeros(w.shape, F32)
        state["optimizer.exp_avg_sq." + name] = np.zeros(w.shape, F32)
    for module in CONVS:
        channels = weights[module + ".1.bias"].shape
        state[f"buffers.{module}.1.running_mean"] = np.zeros(channels, F32)
        state[f"buffers.{module}.1.running_var"] = np.ones(channels, F32)
        state[f"buffers.{module}.1.num_batches_tracked"] = 0
    for name in ("counts.steps", "optimizer.step", "counts.skipped", "counts.found",
                 "scaler.growth_tracker", "scaler.held_back", "scaler.gave_up", "counts.spare"):
        state[name] = 0
    state["scale"] = F32(scale)
    for group, tensors in (("forward", 2 * len(QUANTISED)), ("backward", len(QUANTISED))):
        if history:
            state[f"quant.{group}.amax_history"] = np.zeros((history, tensors), F32)
            state[f"quant.{group}.scale"] = np.ones(tensors, F32)
    return state
