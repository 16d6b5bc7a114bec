# SPDX-License-Identifier: Apache-2.0
"""The statements of Delta Lake that Spark's parser does not know: how each is read, and what it does."""

from __future__ import annotations
