"""Gathers what some elements of an operator's results were computed from.

Judging all of a tensor would cost far more than the step itself. So each call gives a few
elements: the ends of the tensor, its largest and smallest magnitude, and others that a seeded rule
chooses; and for each of them the numbers that it depends on, whatever strides and views they lie
behind. The more terms an element has, the fewer are taken."""

import math

import torch

from . import operators

MOST_ELEMENTS = 64
MOST_TERMS = 1 << 13    # of all elements of one call
LONGEST_ELEMENT = 1 << 20
ROWS, COLUMNS = 8, 8    # of what is judged by the row
MOST_PIECES = 16        # of those that are joined


class Question:
    """What one call claims: some results of a definition, which is a text or the name of one in the
    library, and the inputs that they have. own: these are copies already."""

    def __init__(self, text, inputs, results, options=None, own=False):
        # Copies: the training may write over what it lent.
        self.inputs = {name: value.to("cpu") if own else kept(value)
                       for name, value in inputs.items()}
        self.results = {name: kept(value) for name, value in results.items() if value is not None}
        self.options = options or {}
        self.text = text


class Same:
    """What one call claims that was to hand numbers on: pairs of what is wanted and what was got,
    which have equal bits."""

    def __init__(self, pairs):
        self.pairs = [(want.clone(), got.clone()) for want, got in pairs]


def kept(tensor):
    """A copy in the host's memory."""
    return tensor.detach().to("cpu", copy=True)


class TooLong(Exception):
    """One element has more terms than a watched step can afford."""


class Call:
    """One call of an operator: its arguments, as they were given and by name, its results, and a
    source of chances."""

    def __init__(self, given, keywords, arguments, results, chances):
        self.given, self.keywords = given, keywords
        self.args, self.results = arguments, results
        self.old = None  # what coarse.py compares its result with
        self.kept = []  # what it writes over, though its schema does not say so
        self.beside = None  # which of its results are not judged, and why
        self.random = chances

    def elements(self, terms):
        """How many elements may be taken that have so many terms each."""
        if terms > LONGEST_ELEMENT:
            raise TooLong(f"an element has {terms} terms")
        return max(1, min(MOST_ELEMENTS, MOST_TERMS // max(terms, 1)))

    def places(self, count, most, of=None):
        """Some of `count` places in a row: its ends, those where `of` is largest and smallest, and
        others by chance."""
        if count <= most:
            return list(range(count))
        chosen = {0, count - 1} if most > 1 else {self.random.randrange(count)}
        if of is not None and of.numel() == count and most > 3:
            size = of.detach().reshape(-1)
            size = (size.float() if size.element_size() == 1 else size).abs()
            chosen |= {_first(size, torch.amax, torch.argmax),
                       _first(size, torch.amin, torch.argmin)}
        more = most - len(chosen)
        words = memoryview(self.random.getrandbits(64 * more).to_bytes(8 * more, "little"))
        chosen.update(word * count >> 64 for word in words.cast("Q"))
        return sorted(chosen)

    def columns(self, count):
        """Some places of a row of so many."""
        return torch.tensor(self.places(count, COLUMNS))

    def chosen(self, tensor, terms=1, values=True):
        """Some elements of a tensor, as a tuple of indices; where `values`, by their magnitudes,
        too."""
        places = self.places(tensor.numel(), self.elements(terms), tensor if values else None)
        return unravel(places, tensor.shape)


def _first(size, extreme, place):
    """The place of the first largest or smallest number of a row. Of a long one by blocks: PyTorch
    finds the numbers ten times as fast as their places."""
    count, block = size.numel(), 4096
    if count < 4 * block:
        return int(place(size))
    whole = count - count % block
    found = extreme(size[:whole].view(-1, block), 1)
    if whole < count:
        found = torch.cat([found, extreme(size[whole:], 0, keepdim=True)])
    first = int(place(found)) * block
    return first + int(place(size[first:first + block]))


def unravel(places, shape):
    """Places in a contiguous tensor of that shape, as a tuple of indices, one an axis."""
    rest = torch.tensor(places, dtype=torch.int64)
    if len(shape) == 1:
        return (rest,)
    indices = []
    for extent in reversed(shape):
        indices.append(rest % extent)
        rest = torch.div(rest, extent, rounding_mode="floor")
    return tuple(reversed(indices))


def taken(tensor, indices):
    """A copy of these elements. PyTorch 2.6 takes none of a tensor in eight bits."""
    if tensor.element_size() == 1 and tensor.is_floating_point():
        return tensor.view(torch.uint8)[indices].view(tensor.dtype)
    return tensor[indices]


def at(tensor, indices, shape):
    """A copy of the elements of a tensor that is broadcast to a shape."""
    if not shape:
        return tensor.reshape(1).clone()
    return taken(tensor if tensor.shape == shape else tensor.expand(shape), indices)


def rows_last(tensor, axes):
    """A view with the given axes behind the others."""
    if not tensor.dim():
        return tensor, 0
    axes = [axis % max(tensor.dim(), 1) for axis in axes]
    others = [axis for axis in range(tensor.dim()) if axis not in axes]
    return tensor.permute(*others, *axes), len(others)


# Each of these takes a call, and returns its questions.

def products(a, b, call, options=None, added=None, text=None, column=False):
    """Chosen elements of batches of matrix products a[..., i, k] b[..., k, j]; column: the result
    has no axis j."""
    y = call.results[0][..., None] if column else call.results[0]
    where = call.chosen(y, a.shape[-1])
    left = a[where[:-1]]
    right = b.transpose(-2, -1)[(where[:-2] if b.dim() > 2 else ()) + where[-1:]]
    inputs = {"a": left, "b": right}
    if added is not None:
        inputs["c"] = at(added, where, y.shape)
    text = text or (operators.DOT_ADDED if added is not None else operators.DOT)
    return [Question(text, inputs, {"y": y[where]}, options)]


def mm(call):
    return products(call.args["self"], call.args["mat2"], call)


def mv(call):
    return products(call.args["self"], call.args["vec"][:, None], call, column=True)


def dot(call):
    args = call.args
    a, b = args["self"], args.get("tensor", args.get("other"))
    if a.is_complex():
        return None
    call.elements(a.numel())
    return [Question(operators.DOT, {"a": a[None], "b": b[None]},
                     {"y": call.results[0].reshape(1)})]


def linear(call):
    """What inference mode calls in place of what it is made of."""
    return products(call.args["input"], call.args["weight"].t(), call, added=call.args["bias"])


def addmm(call):
    args = call.args
    options = {"alpha": float(args.get("alpha", 1)), "beta": float(args.get("beta", 1))}
    names = ("mat1", "mat2") if "mat1" in args else ("batch1", "batch2")
    if options["beta"] == 0:
        return products(*(args[name] for name in names), call, {"alpha": options["alpha"]})
    return products(*(args[name] for name in names), call, options, args["self"])


def reduced(text):
    """Of sums along some axes."""
    def gather(call):
        x, y = call.args["self"], call.results[0]
        axes = call.args.get("dim")
        axes = [axes] if isinstance(axes, int) else axes or list(range(x.dim()))
        if text is operators.NORM and call.args.get("ord", call.args.get("p", 2)) not in (2, None):
            return None
        moved, kept = rows_last(x, axes)
        terms = math.prod(moved.shape[kept:])
        if not terms and text is not operators.MEAN:
            return Same([(torch.zeros_like(y), y)])
        flat = y.reshape(moved.shape[:kept])
        where = call.chosen(flat, terms) if kept else ()
        rows = moved[where].reshape(-1, terms) if kept else x.reshape(1, -1)
        if not kept:
            call.elements(terms)
        return [Question(text, {"x": rows}, {"y": flat[where].reshape(-1)})]
    return gather


def along(text, inputs, result):
    """Of operators that work on rows along one axis, which is the argument `dim`."""
    def gather(call):
        y = call.results[0]
        axis = call.args["dim"]
        moved, kept = rows_last(y, [axis])
        terms = moved.shape[-1]
        rows = unravel(call.places(math.prod(moved.shape[:kept]), min(ROWS, call.elements(terms))),
                       moved.shape[:kept])
        at_ = call.columns(terms)
        taken = {ours: rows_last(call.args[theirs], [axis])[0][rows].reshape(-1, terms)
                 for ours, theirs in inputs.items()}
        return [Question(text, {**taken, "at": at_},
                         {result: moved[rows].reshape(-1, terms)[:, at_]})]
    return gather


def layer_norm(call):
    args = call.args
    x, shape = args["input"], args["normalized_shape"]
    terms = math.prod(shape)
    flat = x.reshape(-1, terms)
    rows = torch.tensor(call.places(flat.shape[0], min(ROWS, call.elements(terms))))
    columns = call.columns(terms)
    weight, bias = (value.reshape(-1) if value is not None else x.new_full((terms,), default)
                    for value, default in ((args.get("weight"), 1.0), (args.get("bias"), 0.0)))
    y, mean, rstd = call.results
    return [Question(operators.LAYER_NORM,
                     {"x": flat[rows], "w": weight, "b": bias, "at": columns},
                     {"y": y.reshape(-1, terms)[rows[:, None], columns],
                      "mu": mean.reshape(-1)[rows], "rstd": rstd.reshape(-1)[rows]},
                     {"eps": float(args["eps"])})]


def layer_norm_backward(call):
    args = call.args
    x, shape = args["input"], args["normalized_shape"]
    terms = math.prod(shape)
    flat, dy = x.reshape(-1, terms), args["grad_out"].reshape(-1, terms)
    mean, rstd = args["mean"].reshape(-1), args["rstd"].reshape(-1)
    dx, dw, db = call.results
    questions = []
    if dx is not None:
        rows = torch.tensor(call.places(flat.shape[0], min(ROWS, call.elements(terms))))
        columns = call.columns(terms)
        weight = args.get("weight")
        weight = weight.reshape(-1) if weight is not None else x.new_ones(terms)
        questions.append(Question(operators.LAYER_NORM_BACKWARD,
                                  {"dy": dy[rows], "x": flat[rows], "w": weight,
                                   "mu": mean[rows], "rstd": rstd[rows], "at": columns},
                                  {"dx": dx.reshape(-1, terms)[rows[:, None], columns]}))
    results = {name: value.reshape(-1) for name, value in (("dw", dw), ("db", db))
               if value is not None}
    if results:
        columns = torch.tensor(call.places(terms, min(COLUMNS, call.elements(flat.shape[0]))))
        questions.append(Question(operators.LAYER_NORM_WEIGHTS,
                                  {"dy": dy[:, columns], "x": flat[:, columns], "mu": mean,
                                   "rstd": rstd},
                                  {name: value[columns] for name, value in results.items()}))
    return questions


def channels(tensor, chosen):
    """Of a batch of images the chosen channels, as columns."""
    return tensor.transpose(0, 1)[chosen].reshape(len(chosen), -1).t()


# Arguments that an operator writes over, though its schema does not say so.
WRITTEN = {"native_batch_norm": ("running_mean", "running_var")}


def batch_norm(call):
    args = call.args
    if not args["training"]:
        return None
    x = args["input"]
    count = x.shape[1]
    chosen = torch.tensor(call.places(count, min(4, call.elements(x.numel() // count))))
    weight, bias = (value[chosen] if value is not None else x.new_full((len(chosen),), default)
                    for value, default in ((args.get("weight"), 1.0), (args.get("bias"), 0.0)))
    y, mean, invstd = call.results
    at_ = call.columns(x.numel() // count)
    asked = [Question(operators.BATCH_NORM,
                      {"x": channels(x, chosen), "w": weight, "b": bias, "at": at_},
                      {"y": channels(y, chosen)[at_], "mu": mean[chosen],
                       "invstd": invstd[chosen]}, {"eps": float(args["eps"])})]
    if call.kept and call.kept[0].dtype == torch.float32 and x.numel() > count:
        old, taken = [kept[chosen] for kept in call.kept], float(args["momentum"])
        asked.append(Question(operators.RUNNING, {"x": channels(x, chosen), "rm": old[0],
                                                  "rv": old[1]},
                              {"running_mean": args["running_mean"][chosen],
                               "running_var": args["running_var"][chosen]},
                              {"keep": 1 - taken, "take": taken, "less": x.numel() // count - 1}))
    return asked


def batch_norm_backward(call):
    args = call.args
    if not args["train"]:
        return None
    x = args["input"]
    count = x.shape[1]
    chosen = torch.tensor(call.places(count, min(4, call.elements(x.numel() // count))))
    weight = args.get("weight")
    weight = weight[chosen] if weight is not None else x.new_ones(len(chosen))
    dx, dw, db = call.results
    at_ = call.columns(x.numel() // count)
    return [Question(operators.BATCH_NORM_BACKWARD,
                     {"dy": channels(args["grad_out"], chosen), "x": channels(x, chosen),
                      "w": weight, "mu": args["save_mean"][chosen],
                      "invstd": args["save_invstd"][chosen], "at": at_},
                     {"dx": channels(dx, chosen)[at_] if dx is not None else None,
                      "dw": dw[chosen] if dw is not None else None,
                      "db": db[chosen] if db is not None else None})]


def embedding_backward(call):
    args = call.args
    dy = args["grad_output"].reshape(-1, call.results[0].shape[1])
    ids = args["indices"].reshape(-1)
    if args.get("scale_grad_by_freq"):
        return None
    seen, counts = ids.unique(return_counts=True)
    if args["padding_idx"] >= 0:
        counts = counts[seen != args["padding_idx"]]
        seen = seen[seen != args["padding_idx"]]
    if not len(seen):
        return None
    most = int(counts.argmax())
    rows = sorted({most, *call.places(len(seen), 4)})
    columns = torch.tensor(call.places(dy.shape[1], 8))
    taken = torch.cat([(ids == seen[row]).nonzero().reshape(-1) for row in rows])
    place = torch.cat([torch.full((int(counts[row]),), i) for i, row in enumerate(rows)])
    call.elements(len(taken))
    return [Question("embedding_backward",
                     {"dy": dy[taken][:, columns], "id": place},
                     {"dw": call.results[0][seen[rows]][:, columns]}, {"rows": len(rows)})]


def nll(call):
    """The mean or the sum of what the targets have; the total of the weights is a result, too."""
    args = call.args
    x, target = args["self"], args["target"]
    if args["reduction"] not in (1, 2) or x.dim() < 2:
        return None
    kept = (target != args["ignore_index"]).nonzero(as_tuple=True)  # images have rows and columns
    if not len(kept[0]):
        return None
    call.elements(len(kept[0]))
    weight = args.get("weight")
    ours = target[kept]
    weights = weight[ours] if weight is not None else x.new_ones(len(ours))
    total = float(weights.double().sum()) if args["reduction"] == 1 else 1.0
    return [Question(operators.NLL, {"x": x[(kept[0], ours, *kept[1:])], "w": weights},
                     {"y": call.results[0].reshape(())}, {"total": total})]


def nll_backward(call):
    """Where the target is; elsewhere it is 0."""
    args = call.args
    dx, target = call.results[0], args["target"]
    if args["reduction"] not in (1, 2) or dx.dim() < 2:
        return None
    dx = dx.movedim(1, -1)
    rows = unravel(call.places(target.numel(), MOST_ELEMENTS), target.shape)
    ours = target[rows]
    kept_ = (ours != args["ignore_index"]).nonzero().reshape(-1)
    rows, ours = tuple(axis[kept_] for axis in rows), ours[kept_]
    weight = args.get("weight")
    weights = weight[ours] if weight is not None else dx.new_ones(len(ours))
    total = float(args["total_weight"]) if args["reduction"] == 1 else 1.0
    beside = torch.tensor([call.random.randrange(dx.shape[-1]) for _ in range(len(ours))],
                          dtype=torch.int64)
    zero = torch.where(beside == ours, 0, 1) > 0
    others = tuple(axis[zero] for axis in rows)
    if bool((dx[(*others, beside[zero])] != 0).any()):
        weights = torch.cat([weights, weights.new_zeros(int(zero.sum()))])
        rows = tuple(torch.cat(pair) for pair in zip(rows, others))
        ours = torch.cat([ours, beside[zero]])
    return [Question(operators.NLL_BACKWARD, {"dy": args["grad_output"].reshape(()), "w": weights},
                     {"dx": dx[(*rows, ours)]}, {"total": total})]


STRUCTURED = {
    "mm": mm,
    "bmm": mm,
    "addmm": addmm,
    "baddbmm": addmm,
    "linear": linear,
    "mv": mv,
    "dot": dot,
    "vdot": dot,
    "sum": reduced(operators.SUM),
    "mean": reduced(operators.MEAN),
    "linalg_vector_norm": reduced(operators.NORM),
    "norm": reduced(operators.NORM),
    "cumsum": along(operators.CUMSUM, {"x": "self"}, "y"),
    "_softmax": along(operators.SOFTMAX, {"x": "self"}, "y"),
    "_log_softmax": along(operators.LOG_SOFTMAX, {"x": "self"}, "y"),
    "_softmax_backward_data": along(operators.SOFTMAX_BACKWARD,
                                    {"dy": "grad_output", "y": "output"}, "dx"),
    "_log_softmax_backward_data": along(operators.LOG_SOFTMAX_BACKWARD,
                                        {"dy": "grad_output", "y": "output"}, "dx"),
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "native_batch_norm": batch_norm,
    "native_batch_norm_backward": batch_norm_backward,
    "embedding_dense_backward": embedding_backward,
    "logsumexp": reduced(operators.LOGSUMEXP),
    "nll_loss_backward": nll_backward,
    "nll_loss_forward": nll,
    "nll_loss2d_backward": nll_backward,
    "nll_loss2d_forward": nll,
}


# Operators that hand numbers on: pairs of what is wanted and what was got, which have equal bits.

def _same(call):
    y = call.results[0]
    where = call.chosen(y)
    return [(call.args["self"][where], y[where])]


def _constant(value):
    def gather(call):
        y = call.results[0]
        where = call.chosen(y)
        return [(torch.full_like(y[where], value), y[where])]
    return gather


def _full(call):
    value = call.args.get("fill_value", call.args.get("value", call.args.get("s")))
    return _constant(float(value))(call)


def _joined(call):
    """cat: each tensor lies behind the one before it."""
    y, axis, first = call.results[0], call.args["dim"], 0
    pairs = []
    given = [tensor for tensor in call.args["tensors"] if tensor.numel()]
    taken = set(call.places(len(given), MOST_PIECES))
    for i, tensor in enumerate(given):
        piece = y.narrow(axis, first, tensor.shape[axis])
        first += tensor.shape[axis]
        if i not in taken:
            continue
        where = call.chosen(piece)
        pairs.append((tensor[where].to(y.dtype), piece[where]))
    return pairs


def _stacked(call):
    y, axis = call.results[0], call.args["dim"]
    pairs = []
    tensors = call.args["tensors"]
    for i in call.places(len(tensors), MOST_PIECES):
        tensor, piece = tensors[i], y.select(axis, i)
        where = call.chosen(piece)
        pairs.append((tensor[where].to(y.dtype), piece[where]))
    return pairs


def _embedding(call):
    y = call.results[0]
    where = call.chosen(y)
    return [(call.args["weight"][call.args["indices"][where[:-1]], where[-1]], y[where])]


def _flipped(call):
    x, y = call.args["self"], call.results[0]
    where = call.chosen(y)
    axes = {axis % x.dim() for axis in call.args["dims"]}
    return [(x[tuple(x.shape[axis] - 1 - place if axis in axes else place
                     for axis, place in enumerate(where))], y[where])]


def _triangle(sign):
    """tril and triu: what lies on one side of a diagonal, and zeros."""
    def gather(call):
        x, y = call.args["self"], call.results[0]
        where = call.chosen(y)
        kept = sign * (where[-1] - where[-2] - call.args["diagonal"]) >= 0
        return [(torch.where(kept.to(x.device), x[where], torch.zeros_like(x[where])), y[where])]
    return gather


def _put_back(call):
    """select_backward and slice_backward: zeros, but for the place that was read."""
    args, y = call.args, call.results[0]
    wanted = torch.zeros_like(y)
    if "index" in args:
        wanted.select(args["dim"], args["index"]).copy_(args["grad_output"])
    else:
        axis, size = args["dim"], y.shape[args["dim"]]
        index = range(size)[slice(args["start"], args["end"], args["step"])]
        wanted.index_copy_(axis, torch.tensor(list(index), dtype=torch.int64), args["grad_output"])
    where = call.chosen(y)
    return [(wanted[where], y[where])]


MOVES = {
    "cat": _joined,
    "clone": _same,
    "embedding": _embedding,
    "fill": _full,
    "flip": _flipped,
    "full": _full,
    "full_like": _full,
    "new_full": _full,
    "new_ones": _constant(1.0),
    "new_zeros": _constant(0.0),
    "ones": _constant(1.0),
    "ones_like": _constant(1.0),
    "scalar_tensor": _full,
    "select_backward": _put_back,
    "slice_backward": _put_back,
    "stack": _stacked,
    "tril": _triangle(-1),
    "triu": _triangle(1),
    "zero": _constant(0.0),
    "zeros": _constant(0.0),
    "zeros_like": _constant(0.0),
}


def differing(want, got):
    """How many elements differ in a bit."""
    want, got = (tensor.contiguous().reshape(-1) for tensor in (want, got))
    return int((want.view(torch.uint8) != got.view(torch.uint8)).reshape(
        len(want), -1).any(-1).sum()) if len(want) else 0
