# SPDX-License-Identifier: Apache-2.0
"""Which data files an `excludeRegex` leaves out, by their paths as in the log."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc


class PathFilter:
    """A regular expression for paths, applied to whole columns where RE2 knows its syntax, and else path by path."""

    def __init__(self, pattern: str) -> None:
        """Take a pattern that `is_valid`."""
        self._pattern = pattern
        self._compiled = None if _is_known_to_re2(pattern) else re.compile(pattern)

    @staticmethod
    def is_valid(pattern: str) -> bool:
        """Whether the pattern can be understood."""
        if _is_known_to_re2(pattern):
            return True
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
        return True

    def keeps(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """For each path, whether the pattern finds nothing in it."""
        if self._compiled is None:
            return pc.invert(pc.match_substring_regex(paths, self._pattern))
        return pa.array((self._compiled.search(path) is None for path in paths.to_pylist()), pa.bool_())


def _is_known_to_re2(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        return False
    return True
