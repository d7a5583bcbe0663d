"""halfcheck: is your fp16 and bf16 arithmetic numerically right?"""

from .arrays import Unsupported
from .program import Error, version

__version__ = version()
__all__ = ["Error", "Unsupported", "__version__"]
