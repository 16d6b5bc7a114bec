# SPDX-License-Identifier: Apache-2.0
"""How many examples hypothesis draws: the profile says it, and a test whose examples are slow or quick takes a share of it."""

from __future__ import annotations

from hypothesis import settings

FEWEST = 5


def drawing(share: float) -> settings:
    """The settings of a test that draws a share of the profile's examples: 25 in a plain run, thousands in `make soak`."""
    return settings(max_examples=max(FEWEST, round(settings().max_examples * share)))


SLOW = drawing(0.4)
"""For an example that takes some 50 ms of a slow processor."""
VERY_SLOW = drawing(0.2)
"""For one that takes more than 100 ms."""
QUICK = drawing(4)
"""For one that takes 1 ms."""
