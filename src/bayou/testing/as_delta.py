# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: `pytest -p bayou.testing.as_delta` runs a test suite that was written for delta-spark, unmodified.

Importing the module is what does it, so that a suite's `conftest.py` finds `delta` already.
"""

from __future__ import annotations

from bayou import install_as_delta

install_as_delta()
