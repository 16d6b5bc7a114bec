# SPDX-License-Identifier: Apache-2.0
"""Stores the texts of errors: `make error-texts`, or `PYTHONPATH=src python -m tests.errors` in the top folder.

With `--spark` also those of `tests/errors/mistakes.py`, which need a session of Spark."""

from __future__ import annotations

import sys

from tests.errors.snapshots import write

write(with_spark="--spark" in sys.argv)
