"""python -m halfcheck: the program in the package."""

from .program import main

main()
