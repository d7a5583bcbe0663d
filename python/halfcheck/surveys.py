"""survey: in which formats, layouts and orders a function passes."""

from . import program as _program
from .checks import Job, _formats_of, orders_of

_LAYOUTS = ("nchw", "nhwc")


class Survey:
    """What a function passes: reports by layout ({None: ...} for an op without images); formats,
    those in which all cases pass in some layout; and orders, the formats in which it gives the same
    bits as each order."""

    def __init__(self, name, op, reports, orders):
        self.name, self.op, self.reports, self.orders = name, op, reports, orders

    @property
    def layouts(self):
        """The layouts in which nothing fails."""
        return [layout for layout, report in self.reports.items() if layout and report.ok]

    @property
    def formats(self):
        """The formats in which nothing fails, in the best layout."""
        return [kind for kind, (_, failed) in self._best.formats.items() if not failed]

    @property
    def _best(self):
        return min(self.reports.values(), key=lambda report: len(report.failed))

    def __str__(self):
        lines = str(self._best).splitlines()
        for layout, report in self.reports.items():
            if layout:
                lines.append(f"  layout {layout}: {len(report.failed) or 'none'} of "
                             f"{len(report.results)} cases fail")
        for order, kinds in self.orders.items():
            lines.append(f"  same bits as {order}: {', '.join(kinds) or 'in no format'}")
        return "\n".join(lines)

    __repr__ = __str__


def survey(fn, op, formats=None, level="standard", seed=0, arrays=None):
    """Runs the cases of an op on a function in each layout, and asks whose bits it gives, in each
    order that the op knows. Unlike check it raises nothing at wrong numbers."""
    about = _program.op_named(op)
    op = about["name"]
    images = any(slot["shape"].count(",") == 3 for slot in about["slots"])
    reports, raised = {}, None
    for layout in _LAYOUTS if images else (None,):
        try:
            reports[layout] = Job(fn, op, formats, None, level, seed, arrays, layout or "nchw").run()
        except (IndexError, TypeError, ValueError) as error:
            raised = error  # as by images of the other layout
    if not reports:
        raise raised
    choices = orders_of(op) or (["ours"] if about["same_bits"] else [])
    orders = {order: _same_bits(fn, op, formats, order, level, seed, arrays)
              for order in choices if _program.has_option("run", "--order")}
    name = next(iter(reports.values())).name
    return Survey(name, op, reports, orders)


def _same_bits(fn, op, formats, order, level, seed, arrays):
    """The formats in which the function gives the bits of an order."""
    job = Job(fn, op, formats, order, level, seed, arrays)
    report = job.run([pattern for pattern in job.patterns if pattern.startswith("bits/")])
    good = {}
    for result in report.results:
        kind = _formats_of(result.case).removesuffix("-" + order)
        good[kind] = good.get(kind, True) and result.ok
    return [kind for kind, right in good.items() if right]
