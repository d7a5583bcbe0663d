"""Products of matrices in eight bits with a scale a tensor, or a scale a row and a column."""

import torch

from ..slices import Question

# The scales may be taken into the products, or come last.
SCALED = """op scaled_dot(a[i, k], b[i, k], sa[i], sb[i]{bias})
s[i] = sum(k: (a[i,k] * sa[i]) * (b[i,k] * sb[i]))
y[i] = s[i]{added}
return y
"""


def _of(scale, index, extent):
    """The scale of each of these rows, or columns; None if it has another shape."""
    if scale is None:
        return torch.ones(len(index))
    if scale.numel() == 1:
        return scale.reshape(1).expand(len(index))
    return scale.reshape(-1)[index] if scale.numel() == extent else None


def scaled_mm(call):
    args, y = call.args, call.results[0]
    a, b = args["self"], args["mat2"]
    if args.get("scale_result") is not None:
        return None
    where = call.chosen(y.float(), a.shape[1])
    rows, columns = (_of(args.get(f"scale_{name}"), index, extent) for name, index, extent in
                     (("a", where[0], y.shape[0]), ("b", where[1], y.shape[1])))
    if rows is None or columns is None:
        return None
    inputs = {"a": a[where[0]], "b": b.t()[where[1]], "sa": rows, "sb": columns}
    bias = args.get("bias")
    if bias is not None:
        inputs["c"] = bias[where[1]]
    text = SCALED.format(bias=", c[i]" if bias is not None else "",
                         added=" + c[i]" if bias is not None else "")
    return [Question(text, inputs, {"y": y[where]})]


STRUCTURED = {"_scaled_mm": scaled_mm}
