"""What a model of texts is asked for, and what it may see: the tokens that an embedding has read, the
targets of the loss, and the masks of attention. Each operator here is right. A line says what was
seen, and it may be meant, so that nothing is called wrong for it.

Tokens are an integer matrix that an embedding reads, one row a text. A loss belongs to them if its
targets are those tokens some places on."""

import torch

_SHORTEST = 8    # of texts
_COUNTED = 16    # targets, at least, that tell which tokens they are
_TAIL = 4        # equal tokens in a row, with which a text ends or begins, are padding
_MASKED = -5000  # of a score: fp16's least number and -1e4 stand for an infinity, too
_MOST = 2**20    # tokens that are looked at

_ATTENTIONS = {"_scaled_dot_product_flash_attention_for_cpu": "attn_mask",
               "_scaled_dot_product_flash_attention": None,
               "_scaled_dot_product_efficient_attention": "attn_bias",
               "_scaled_dot_product_cudnn_attention": "attn_bias",
               "_scaled_dot_product_fused_attention_overrideable": "attn_bias"}


class Texts:
    """Looks at some operators of a watched step; `end` says what they tell together."""

    def __init__(self):
        self.lines = {}
        self.begin()

    def begin(self):
        self.read, self.asked, self.reaches = [], [], []

    def look(self, name, line, call):
        """Looks at a call that has run."""
        if name == "embedding":
            self._reads(call.args["indices"])
        elif name in ("nll_loss_forward", "nll_loss2d_forward"):
            self._asks(line, call.args)
        elif name in ("_softmax", "_safe_softmax"):
            self._sees(line, call.args["self"])
        elif name in _ATTENTIONS:
            mask = _ATTENTIONS[name] and call.args.get(_ATTENTIONS[name])
            rows, columns = call.args["query"].shape[-2], call.args["key"].shape[-2]
            if call.args.get("is_causal"):
                self.reaches.append((line, rows, columns, 0))
            elif mask is not None:
                self._sees(line, mask)
            else:
                self.reaches.append((line, rows, columns, columns - 1))

    def _reads(self, ids):
        if ids.dim() == 2 and ids.shape[1] >= _SHORTEST and ids.numel() <= _MOST and \
                not any(torch.equal(ids, other) for other in self.read):
            self.read.append(ids.clone())

    def _asks(self, line, args):
        """Keeps the targets of a loss, and which of them count."""
        target, weight = args["target"], args.get("weight")
        if target.numel() > _MOST or int(args["reduction"]) == 0:  # a mask may follow
            return
        target = target.reshape(-1)
        counted = target != int(args["ignore_index"])
        if weight is not None:
            counted &= weight[target.clamp(0, len(weight) - 1)] != 0
        self.asked.append((line, target.clone(), counted))

    def _sees(self, line, scores):
        """Keeps how many places beyond its own a row of scores sees, at most: `reach`, if all rows
        have the same one, as far as there are places, and see more behind them than that."""
        rows, columns = scores.shape[-2:] if scores.dim() > 1 else (0, 0)
        if rows != columns or rows < _SHORTEST or not scores.is_floating_point() and \
                scores.dtype != torch.bool:
            return
        few = scores.reshape(-1, rows, columns)
        few = few[::max(1, len(few) // 4)][:4]
        seen = (few if few.dtype == torch.bool else few > _MASKED).any(0).nonzero()
        ahead = torch.full((rows,), -columns).to(seen.device)
        behind = ahead.scatter_reduce(0, seen[:, 0], seen[:, 0] - seen[:, 1], "amax")
        ahead = ahead.scatter_reduce(0, seen[:, 0], seen[:, 1] - seen[:, 0], "amax")
        reach = int(ahead[0])
        same = ahead == torch.arange(columns - 1, -1, -1).to(seen.device).clamp(max=reach)
        if bool(same.all()) and (reach == columns - 1 or int(behind.max()) > reach):
            self.reaches.append((line, rows, columns, reach))

    def end(self):
        """Says what the step's texts, losses and masks tell together."""
        found = [(line, ids, target, counted, _places_on(ids, target, counted))
                 for line, target, counted in self.asked for ids in self.read]
        found = [one for one in found if one[-1] is not None]
        following = any(shift == 1 for *_, shift in found)
        for line, ids, target, counted, shift in found:
            if shift != 1 and not following:
                self._say("the loss asks for the token " + (
                    "that was read at the same place" if shift == 0 else
                    "after the next one: the targets were shifted twice"), line)
            padding = _padding(ids)
            if padding is not None:
                ends, token = padding
                target, counted = _like(target, ids), _like(counted, ids)
                count = int((ends[:, :target.shape[1]] & counted & (target == token)).sum())
                if count >= _TAIL:
                    self._say("targets that are padding, which texts end or begin with, count in "
                              "the loss", line)
            if shift:
                self._leaks(ids.shape[1], shift)
        self.begin()

    def _leaks(self, length, shift):
        here = [(line, reach) for line, rows, columns, reach in self.reaches
                if rows == columns and length - 2 <= rows <= length]
        whole = [reach >= length - 3 for _, reach in here]
        for line, reach in here:
            # What sees all may be an encoder's, or be another text's.
            if reach >= shift and (reach < length - 3 or all(whole) and len(self.read) == 1):
                self._say("the mask of attention lets a token see the one that it is to predict",
                          line)

    def _say(self, words, line):
        self.lines.setdefault(words, f"{line.place()}; {line.where}")


def _like(target, ids):
    """Targets as rows: those of each text but for the last one or two places."""
    return target.reshape(len(ids), -1)


def _places_on(ids, target, counted):
    """How many places on the targets are the tokens: 0, 1 or 2; or None, if they are others, or
    that cannot be told."""
    count = len(ids) and len(target) // len(ids)
    if not count or count * len(ids) != len(target) or not ids.shape[1] - 2 <= count <= ids.shape[1]:
        return None
    target, counted = _like(target, ids), _like(counted, ids)
    shares = []
    for shift in range(3):
        both = min(count, ids.shape[1] - shift)
        where = counted[:, :both]
        total = int(where.sum())
        if total < _COUNTED:
            return None
        equal = (target[:, :both] == ids[:, shift:shift + both]) & where
        shares.append(int(equal.sum()) / total)
    best = max(range(3), key=lambda shift: shares[shift])
    return best if shares[best] == 1 and sorted(shares)[1] < 0.9 else None


def _padding(ids):
    """Where texts are padded, and with which token; None if none are. Padding is one token that some
    texts end with, or begin with, several times over, and that stands nowhere else."""
    for flip in (False, True):
        rows = ids.flip(1) if flip else ids
        last = rows[:, -1:]
        run = (rows == last).flip(1).int().cumprod(1).flip(1).bool()
        padded = run.sum(1) >= _TAIL
        tokens = last[padded].unique()
        if len(tokens) != 1 or bool(run.all(1).all()):
            continue
        token = tokens[0]
        ends = run & (last == token)
        # A text may end with one of them though it needs no padding.
        if bool(((rows == token) & ~ends).any()):
            continue
        return (ends.flip(1) if flip else ends), token
    return None
