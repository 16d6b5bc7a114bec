# SPDX-License-Identifier: Apache-2.0
"""How many values a test of partition values draws."""

from __future__ import annotations

from hypothesis import settings

QUICK = settings(deadline=None, max_examples=300, derandomize=True)
