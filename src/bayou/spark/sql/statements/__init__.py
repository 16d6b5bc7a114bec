# SPDX-License-Identifier: Apache-2.0
"""Parse, explain and run the statements of Delta Lake that Spark's parser does not know."""

from __future__ import annotations
