"""What an installation of PyTorch really does, held against MPFR.

    python -m halfcheck.torch                 runs torch's own ops, optimizers, GradScaler and
                                              autocast on this machine, and makes a report
    python -m halfcheck.torch serve           torch as a backend: halfcheck run 'op/*'
                                              --backend 'pipe:python3 -m halfcheck.torch serve'
"""
def __getattr__(name):
    if name == "watch":
        from .watching import watch
        return watch
    if name == "compiled":
        from .regions import Compiled
        return Compiled
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
