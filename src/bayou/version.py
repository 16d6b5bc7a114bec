# SPDX-License-Identifier: Apache-2.0
"""The version of bayou; the build reads it from here."""

from __future__ import annotations

__version__ = "0.1.0"
