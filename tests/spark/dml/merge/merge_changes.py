# SPDX-License-Identifier: Apache-2.0
"""A table with a change data feed and row tracking, and rows that are merged into it."""

from __future__ import annotations

from tests.support.tables.feeds import FEED

TRACKED = {"delta.enableRowTracking": "true"}
BOTH = {**FEED, **TRACKED}
"""The properties of such a table."""
NEW = "select id, 7L p, id * 100 v from range(4, 13)"
"""Nine rows, of which six are in a table of ten."""
