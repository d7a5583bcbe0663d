"""What operators of PyTorch compute that are no elementwise ones, as definitions, over what
slices.py gathers for some of their elements: texts in the language of definitions
(docs/definitions.md), or the name of one in the library. An operator that is neither here nor in
elements.py is not judged, and is listed as such."""

# What is gathered has an axis i of chosen elements, and an axis k of the terms of each.
DOT = """op dot(a[i, k], b[i, k]; alpha = 1.0)
s[i] = sum(k: a[i,k] * b[i,k])
y[i] = alpha * s[i]
return y
"""

# What is added is one more term: a kernel may begin its sum with it.
DOT_ADDED = """op dot_added(a[i, k], b[i, k], c[i]; alpha = 1.0, beta = 1.0)
axis j = K + 1
y[i] = sum(j: select(j < K, alpha * (a[i,j] * b[i,j]), beta * c[i]))
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

# PyTorch's kernels for processors scale by rstd and take off mean * rstd, as one product and sum.
LAYER_NORM = """op layer_norm(x[i, k], w[k], b[k]; eps = 1e-5)
mu[i]   = mean(k: x[i,k])
v[i]    = mean(k: (x[i,k] - mu[i])^2)
rstd[i] = 1 / sqrt(v[i] + eps)
c[i]    = mu[i] * rstd[i]
y[i, k] = (x[i,k] * rstd[i] - c[i]) * w[k] + b[k]
return y, mu, rstd
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

NLL = """op nll(x[k], w[k]; total = 1.0)
s = sum(k: x[k] * w[k])
y = -s / total
return y
"""

NLL_BACKWARD = """op nll_backward(dy, w[i]; total = 1.0)
dx[i] = -w[i] * dy / total
return dx
"""
