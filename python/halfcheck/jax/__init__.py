"""halfcheck.jax.watch: a step of jax, whose equations are judged."""


def __getattr__(name):
    if name == "watch":
        from .watching import watch
        return watch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
