# SPDX-License-Identifier: Apache-2.0
"""Comparisons with delta-spark take seconds each: some of many run each time, all of them in the long run."""

from __future__ import annotations

import pytest


def sampled(cases, every):
    """Cases of which every n-th one is in the short run, and the others are marked `soak`."""
    return [case if number % every == 0 else pytest.param(case, marks=pytest.mark.soak) for number, case in enumerate(cases)]
