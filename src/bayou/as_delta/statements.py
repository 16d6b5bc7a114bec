# SPDX-License-Identifier: Apache-2.0
"""A check of `SparkSession.sql`: whether a statement may change rows."""

from __future__ import annotations

import re
from typing import Final

_ROW_CHANGES: Final = re.compile(r"\b(delete|update|merge)\b", re.IGNORECASE)


def may_change_rows(text: str) -> bool:
    """Whether a statement may be a DELETE, an UPDATE or a MERGE; where not, there is nothing to ask the JVM."""
    return _ROW_CHANGES.search(text) is not None
