# SPDX-License-Identifier: Apache-2.0
"""The filter of an `excludeRegex`, which leaves out data files by their paths in the log."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc


class PathFilter:
    """A regular expression for paths, applied to whole columns if RE2 supports its syntax, otherwise path by path."""

    def __init__(self, pattern: str) -> None:
        """Take a pattern for which `is_valid` is true."""
        self._pattern = pattern
        self._compiled = None if _is_known_to_re2(pattern) else re.compile(pattern)

    @staticmethod
    def is_valid(pattern: str) -> bool:
        """Return whether the pattern is valid."""
        if _is_known_to_re2(pattern):
            return True
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
        return True

    def keeps(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return for each path whether the pattern does not match it."""
        if self._compiled is None:
            return pc.invert(pc.match_substring_regex(paths, self._pattern))
        return pa.array((self._compiled.search(path) is None for path in paths.to_pylist()), pa.bool_())


def _is_known_to_re2(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        return False
    return True
