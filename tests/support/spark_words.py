# SPDX-License-Identifier: Apache-2.0
"""The words of a statement without a JVM."""

from __future__ import annotations

from bayou.spark.portable.text.tokens import words

__all__ = ["words"]
