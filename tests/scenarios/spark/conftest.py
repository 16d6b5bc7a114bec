# SPDX-License-Identifier: Apache-2.0
"""The fixtures of tests on a Spark session."""

from __future__ import annotations

from tests.support.fixtures import *  # noqa: F403
