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

CUMSUM = """op cumsum(x[i, k], at[j]: index k)
y[i, j] = sum(k: x[i,k] where k <= at[j])
return y
"""

LOGSUMEXP = """op logsumexp(x[i, k])
m[i] = shift max(k: x[i,k])
y[i] = m[i] + log(sum(k: exp(x[i,k] - m[i])))
return y
"""

NORM = """op norm(x[i, k])
y[i] = sqrt(sum(k: x[i,k] * x[i,k]))
return y
"""

SGD_NESTEROV = """op sgd_nesterov(p[i], g[i], buf[i]; lr = 0.1, momentum = 0.9, decay = 0.0)
d[i]    = g[i] + decay * p[i]
buf2[i] = momentum * buf[i] + d[i]
p2[i]   = p[i] - lr * (d[i] + momentum * buf2[i])
return p2, buf2
"""

# Of rows, and of channels, some places j are judged: at[j] of the k that are summed over.

# A score of -inf is a place that is masked; a row of nothing else is NaN.
SOFTMAX = """op softmax(x[i, k], at[j]: index k)
m[i]    = shift max(k: x[i,k])
s[i]    = sum(k: exp(x[i,k] - m[i]) where x[i,k] != -inf)
n[i]    = count(k: x[i,k] != -inf)
p[i, j] = select(x[i,at[j]] == -inf, 0 / s[i], exp(x[i,at[j]] - m[i]) / s[i])
y[i, j] = select(n[i] == 0, nan, p[i,j])
return y
"""

LOG_SOFTMAX = """op log_softmax(x[i, k], at[j]: index k)
m[i]    = shift max(k: x[i,k])
l[i]    = log(sum(k: exp(x[i,k] - m[i])))
y[i, j] = x[i,at[j]] - m[i] - l[i]
return y
"""

# From y, which the forward pass has rounded and kept.
SOFTMAX_BACKWARD = """op softmax_backward(dy[i, k], y[i, k], at[j]: index k)
s[i]     = sum(k: y[i,k] * dy[i,k])
dx[i, j] = y[i,at[j]] * (dy[i,at[j]] - s[i])
return dx
"""

LOG_SOFTMAX_BACKWARD = """op log_softmax_backward(dy[i, k], y[i, k], at[j]: index k)
s[i]     = sum(k: dy[i,k])
dx[i, j] = dy[i,at[j]] - exp(y[i,at[j]]) * s[i]
return dx
"""

# PyTorch's kernels for processors scale by rstd and take off mean * rstd, as one product and sum.
LAYER_NORM = """op layer_norm(x[i, k], w[k], b[k], at[j]: index k; eps = 1e-5)
mu[i]   = mean(k: x[i,k])
v[i]    = mean(k: (x[i,k] - mu[i])^2)
rstd[i] = 1 / sqrt(v[i] + eps)
c[i]    = mu[i] * rstd[i]
y[i, j] = (x[i,at[j]] * rstd[i] - c[i]) * w[at[j]] + b[at[j]]
return y, mu, rstd
"""

# From mean and rstd, which the forward pass has kept.
LAYER_NORM_BACKWARD = """op layer_norm_backward(dy[i, k], x[i, k], w[k], mu[i], rstd[i],
                       at[j]: index k)
ga[i]    = mean(k: dy[i,k] * w[k])
gh[i]    = mean(k: dy[i,k] * w[k] * ((x[i,k] - mu[i]) * rstd[i]))
h[i, j]  = (x[i,at[j]] - mu[i]) * rstd[i]
dx[i, j] = rstd[i] * (dy[i,at[j]] * w[at[j]] - ga[i] - h[i,j] * gh[i])
return dx
"""

LAYER_NORM_WEIGHTS = """op layer_norm_backward_weights(dy[t, k], x[t, k], mu[t], rstd[t])
dw[k] = sum(t: dy[t,k] * ((x[t,k] - mu[t]) * rstd[t]))
db[k] = sum(t: dy[t,k])
return dw, db
"""

# As above: x * a + (b - mean * a).
BATCH_NORM = """op batch_norm(x[k, i], w[i], b[i], at[j]: index k; eps = 1e-5)
mu[i]     = mean(k: x[k,i])
v[i]      = mean(k: (x[k,i] - mu[i])^2)
invstd[i] = 1 / sqrt(v[i] + eps)
a[i]      = invstd[i] * w[i]
c[i]      = b[i] - mu[i] * a[i]
y[j, i]   = x[at[j],i] * a[i] + c[i]
return y, mu, invstd
"""

# What a batch leaves in the running statistics: the variance of n - 1.
RUNNING = """op batch_norm_running(x[k, i], rm[i], rv[i]; keep = 0.9, take = 0.1, less = 1)
mu[i]           = mean(k: x[k,i])
s[i]            = sum(k: (x[k,i] - mu[i])^2)
running_mean[i] = keep * rm[i] + take * mu[i]
running_var[i]  = keep * rv[i] + take * s[i] / less
return running_mean, running_var
"""

BATCH_NORM_BACKWARD = """op batch_norm_backward(dy[k, i], x[k, i], w[i], mu[i], invstd[i],
                       at[j]: index k)
ga[i]    = mean(k: dy[k,i])
gh[i]    = mean(k: dy[k,i] * (x[k,i] - mu[i]))
p[i]     = gh[i] * invstd[i] * invstd[i]
dx[j, i] = (dy[at[j],i] - ga[i] - (x[at[j],i] - mu[i]) * p[i]) * invstd[i] * w[i]
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
