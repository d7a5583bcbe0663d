"""The width of what is printed, whatever folder the tests run in."""

import re


def widest(text):
    """The length of the longest line of text, where a path may be as long as its folder makes it."""
    return max(len(re.sub(r"/[^\s'\"]*/", "/", line)) for line in text.splitlines())
