"""What each operator of PyTorch computes, as a definition: data, one row an operator.

An elementwise operator is one expression in the names of its arguments. Others are a text in the
language of definitions (docs/definitions.md) over what slices.py gathers for some of their
elements. A row that is not here is an operator that is not judged, and is listed as such."""

# Arguments that are tensors are elements, and those that are numbers are options.
ELEMENTWISE = {
    "_to_copy": "self",
    "abs": "abs(self)",
    "add": "self + alpha * other",
    "addcdiv": "self + value * tensor1 / tensor2",
    "addcmul": "self + value * tensor1 * tensor2",
    "clamp_min": "max(self, min)",
    "copy": "src",
    "cos": "cos(self)",
    "div": "self / other",
    "elu": "select(self > 0, scale * self, scale * alpha * (exp(self * input_scale) - 1))",
    "erf": "erf(self)",
    "exp": "exp(self)",
    "gelu_backward:none": "grad_output * (0.5 * (1 + erf(self / sqrt(2)))"
                          " + self * exp(-0.5 * self * self) / sqrt(2 * pi))",
    "gelu:none": "0.5 * self * (1 + erf(self / sqrt(2)))",
    "gelu:tanh": "0.5 * self * (1 + tanh(sqrt(2 / pi) * (self + 0.044715 * self * self * self)))",
    "leaky_relu": "select(self > 0, self, self * negative_slope)",
    "leaky_relu_backward": "select(self > 0, grad_output, grad_output * negative_slope)",
    "lerp": "select(abs(weight) < 0.5, self + weight * (end - self),"
            " end - (end - self) * (1 - weight))",
    "log": "log(self)",
    "log1p": "log1p(self)",
    "masked_fill": "select(mask > 0, value, self)",
    "maximum": "max(self, other)",
    "minimum": "min(self, other)",
    "mul": "self * other",
    "native_dropout_backward": "grad_output * mask * scale",
    "neg": "-self",
    "reciprocal": "1 / self",
    "relu": "max(self, 0)",
    "rsqrt": "1 / sqrt(self)",
    "rsub": "other - alpha * self",
    "sigmoid": "1 / (1 + exp(-self))",
    "sigmoid_backward": "grad_output * ((1 - output) * output)",
    "silu": "self / (1 + exp(-self))",
    "silu_backward": "grad_output * (1 / (1 + exp(-self)))"
                     " * (1 + self * (1 - 1 / (1 + exp(-self))))",
    "sin": "sin(self)",
    "sqrt": "sqrt(self)",
    "sub": "self - alpha * other",
    "tanh": "tanh(self)",
    "tanh_backward": "grad_output * (1 - output * output)",
    "threshold_backward": "select(self <= threshold, 0, grad_output)",
    "where": "select(condition > 0, self, other)",
}

# A power's exponent is part of what is computed.
POWERS = {-1.0: "1 / self", -0.5: "1 / sqrt(self)", 0.5: "sqrt(self)", 1.0: "self",
          **{float(n): f"self^{n}" for n in range(2, 10)}}

# What is gathered has an axis i of chosen elements, and an axis k of the terms of each.
DOT = """op dot(a[i, k], b[i, k]; alpha = 1.0)
s[i] = sum(k: a[i,k] * b[i,k])
y[i] = alpha * s[i]
return y
"""

DOT_ADDED = """op dot_added(a[i, k], b[i, k], c[i]; alpha = 1.0, beta = 1.0)
s[i] = sum(k: a[i,k] * b[i,k])
y[i] = beta * c[i] + alpha * s[i]
return y
"""

SUM = """op row_sum(x[i, k])
y[i] = sum(k: x[i,k])
return y
"""

MEAN = """op row_mean(x[i, k])
y[i] = mean(k: x[i,k])
return y
"""

NORM = """op norm(x[i, k])
y[i] = sqrt(sum(k: x[i,k] * x[i,k]))
return y
"""

# A score of -inf is a place that is masked; a row of nothing else is NaN.
SOFTMAX = """op softmax(x[i, k])
m[i]    = shift max(k: x[i,k])
s[i]    = sum(k: exp(x[i,k] - m[i]) where x[i,k] != -inf)
n[i]    = count(k: x[i,k] != -inf)
p[i, k] = select(x[i,k] == -inf, 0, exp(x[i,k] - m[i]) / s[i])
y[i, k] = select(n[i] == 0, nan, p[i,k])
return y
"""

LOG_SOFTMAX = """op log_softmax(x[i, k])
m[i]    = shift max(k: x[i,k])
s[i]    = sum(k: exp(x[i,k] - m[i]))
y[i, k] = x[i,k] - m[i] - log(s[i])
return y
"""

SOFTMAX_BACKWARD = """op softmax_backward(dy[i, k], y[i, k])
s[i]     = sum(k: y[i,k] * dy[i,k])
dx[i, k] = y[i,k] * (dy[i,k] - s[i])
return dx
"""

LOG_SOFTMAX_BACKWARD = """op log_softmax_backward(dy[i, k], y[i, k])
s[i]     = sum(k: dy[i,k])
dx[i, k] = dy[i,k] - exp(y[i,k]) * s[i]
return dx
"""

# PyTorch's kernels for processors scale by rstd and take off mean * rstd, as one product and sum.
LAYER_NORM = """op layer_norm(x[i, k], w[k], b[k]; eps = 1e-5)
mu[i]   = mean(k: x[i,k])
v[i]    = mean(k: (x[i,k] - mu[i])^2)
rstd[i] = 1 / sqrt(v[i] + eps)
c[i]    = mu[i] * rstd[i]
y[i, k] = (x[i,k] * rstd[i] - c[i]) * w[k] + b[k]
return y, mu, rstd
"""

# From mean and rstd, which the forward pass has kept.
LAYER_NORM_BACKWARD = """op layer_norm_backward(dy[i, k], x[i, k], w[k], mu[i], rstd[i])
h[i, k]  = (x[i,k] - mu[i]) * rstd[i]
g[i, k]  = dy[i,k] * w[k]
ga[i]    = mean(k: g[i,k])
gh[i]    = mean(k: g[i,k] * h[i,k])
dx[i, k] = rstd[i] * (g[i,k] - ga[i] - h[i,k] * gh[i])
return dx
"""

LAYER_NORM_BACKWARD_WEIGHT = """op layer_norm_backward_weight(dy[k, i], x[k, i], mu[k], rstd[k])
dw[i] = sum(k: dy[k,i] * ((x[k,i] - mu[k]) * rstd[k]))
db[i] = sum(k: dy[k,i])
return dw, db
"""

# As above: x * a + (b - mean * a).
BATCH_NORM = """op batch_norm(x[k, i], w[i], b[i]; eps = 1e-5)
mu[i]     = mean(k: x[k,i])
v[i]      = mean(k: (x[k,i] - mu[i])^2)
invstd[i] = 1 / sqrt(v[i] + eps)
a[i]      = invstd[i] * w[i]
c[i]      = b[i] - mu[i] * a[i]
y[k, i]   = x[k,i] * a[i] + c[i]
return y, mu, invstd
"""

BATCH_NORM_BACKWARD = """op batch_norm_backward(dy[k, i], x[k, i], w[i], mu[i], invstd[i])
ga[i]    = mean(k: dy[k,i])
gh[i]    = mean(k: dy[k,i] * (x[k,i] - mu[i]))
p[i]     = gh[i] * invstd[i] * invstd[i]
dx[k, i] = (dy[k,i] - ga[i] - (x[k,i] - mu[i]) * p[i]) * invstd[i] * w[i]
dw[i]    = sum(k: dy[k,i] * (x[k,i] - mu[i])) * invstd[i]
db[i]    = sum(k: dy[k,i])
return dx, dw, db
"""

EMBEDDING_BACKWARD = """op embedding_backward(dy[k, i], id[k]: index; rows = 1)
axis v = rows
dw[v, i] = sum(k: dy[k,i] where id[k] == v)
return dw
"""

NLL = """op nll(x[k], w[k]; total = 1.0)
s = sum(k: x[k] * w[k])
y = -s / total
return y
"""

NLL_BACKWARD = """op nll_backward(dy, w[i]; total = 1.0)
dx[i] = -w[i] * dy / total
return dx
"""
