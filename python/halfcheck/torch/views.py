"""What else a watch sees of the calls that it judges. A view is told when a watched step begins and
ends, and of each call before and after it; it has a few lines of text for people and a part of
seen.json. What fails in one is counted there, and the training goes on."""

from .budget import Budget
from .through import Through
from .traces import Trace
from .view import Call
from .wide import alone, numbers
from .windows import Windows

KINDS = {"budget": Budget, "formats": Windows, "through": Through,
         "trace": Trace}  # by the name of what asks for it


class Views:
    """Those that somebody has asked for."""

    def __init__(self, asked):
        unknown = [name for name in asked if name not in KINDS]
        if unknown:
            raise TypeError(f"watch has no option {unknown[0]!r}; it has {', '.join(KINDS)}")
        self.all = [KINDS[name](asked[name]) for name in KINDS if asked.get(name)]
        self.layers = self.call = None

    def _each(self, what, *given):
        for view in self.all:
            try:
                with alone():
                    getattr(view, what)(*given)
            except Exception as error:  # the training goes on, whatever a view meets
                view.failed(f"{type(error).__name__}: {error}")

    def begin(self, step, layers):
        self.layers = layers
        self._each("begin", step, layers)

    def end(self):
        self._each("end")

    def optimizing(self, optimizer):
        self._each("optimizing", optimizer)

    def optimized(self, optimizer):
        self._each("optimized", optimizer)

    def meet(self):
        """Any operator is about to run, a view of a tensor as well."""
        if self.all:
            self._each("meet")

    def before(self, func, overload, call):
        if self.all:
            self.call = Call(func, overload, call, self.layers)
            self._each("before", self.call)

    def after(self, func, call, results):
        if self.all and numbers([results, call.given]):
            self._each("after", self.call, results)
