# SPDX-License-Identifier: Apache-2.0
"""Stores the texts of errors: `make error-texts`, or `PYTHONPATH=src python -m tests.errors` in the top folder."""

from __future__ import annotations

from tests.errors.snapshots import write

write()
