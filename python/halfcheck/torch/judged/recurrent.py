"""Recurrent layers in one operator. The outputs of all times are at hand, which are what the next
time has read: so some units of one row of the batch are judged through all times, and the cell's
state, which is kept nowhere, is computed from its start."""

import torch

from ..slices import Question

# What a time reads: its input, the output of the time before, and a 1 for each bias. oneDNN keeps the
# cell's state in the tensors' format.
LSTM = """op lstm_units(x[t, k], wi[j, k], wf[j, k], wg[j, k], wo[j, k], start[j])
i[t, j]  = 1 / (1 + exp(-sum(k: x[t,k] * wi[j,k])))
f[t, j]  = 1 / (1 + exp(-sum(k: x[t,k] * wf[j,k])))
g[t, j]  = tanh(sum(k: x[t,k] * wg[j,k]))
o[t, j]  = 1 / (1 + exp(-sum(k: x[t,k] * wo[j,k])))
c[-1, j] = start[j]
scan t: c[t, j] = store f[t,j] * c[t-1,j] + i[t,j] * g[t,j]
y[t, j]  = o[t,j] * tanh(c[t,j])
end[j]   = c[T-1,j]
return y, end
"""

_LSTM = 2  # mkldnn_rnn_layer's `mode`
_UNITS = 4


def layer(call):
    """mkldnn_rnn_layer: one layer in one direction. Its input is [time, batch, feature]."""
    args = call.args
    x, hx, cx = args["input"], args["hx_"], args["cx_"]
    if args["mode"] != _LSTM or args["batch_sizes"]:
        return None
    y, _, cy = call.results[:3]
    row = call.random.randrange(x.shape[1])
    hidden = args["hidden_size"]
    times = list(range(x.shape[0]))
    if args["reverse"]:
        times.reverse()
    x, y = x[times, row], y[times, row]
    before = torch.cat([hx.reshape(-1, hidden)[row:row + 1].to(y.dtype), y[:-1]])
    weights = [args["weight0"], args["weight1"]]
    read = [x, before]
    if args["has_biases"]:
        weights += [args["weight2"][:, None], args["weight3"][:, None]]
        read += [x.new_ones(len(x), 2)]
    wide = torch.cat([w.to(x.dtype) for w in weights], 1)
    terms = 4 * wide.shape[1] * len(x)
    units = torch.tensor(call.places(hidden, min(_UNITS, call.elements(terms))))
    gates = {f"w{gate}": wide[units + number * hidden] for number, gate in enumerate("ifgo")}
    return [Question(LSTM, {"x": torch.cat([part.to(x.dtype) for part in read], 1), **gates,
                            "start": cx.reshape(-1, hidden)[row, units]},
                     {"y": y[:, units], "end": cy.reshape(-1, hidden)[row, units]})]


STRUCTURED = {"mkldnn_rnn_layer": layer}
