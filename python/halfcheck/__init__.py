"""halfcheck: is your fp16 and bf16 arithmetic numerically right?

    halfcheck.check(my_adamw, op="adamw", formats=["bf16"])
    halfcheck.judge("conv2d", inputs=[x, w], output=y, stride=1, pad=1)
    halfcheck.calc("w = 1", each="w = w - 1e-4", steps=1000, formats=["fp16", "fp32"])
    halfcheck.pipe.serve(name="mine", ops={"adamw": my_adamw})
"""

import importlib

# Imported when they are used: a module that needs no numpy, such as safetensors, can be had without.
_HOMES = {"Error": "program", "Op": "binding", "Report": "checks", "Unsupported": "arrays",
          "Verdict": "verdicts", "Wrong": "checks", "calc": "formulas", "check": "checks",
          "explain": "names", "judge": "verdicts", "ops": "names", "pipe": "pipe",
          "survey": "surveys"}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name == "__version__":
        value = importlib.import_module(".program", __name__).version()
    elif name in _HOMES:
        module = importlib.import_module("." + _HOMES[name], __name__)
        value = module if name == _HOMES[name] else getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return [*globals(), *__all__, "__version__"]
