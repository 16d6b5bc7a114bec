# SPDX-License-Identifier: Apache-2.0
"""Refuse statements on tables by path that only a classic session runs. The server would say that it knows no such table."""

from __future__ import annotations

from typing import Final

from bayou.errors import failed
from bayou.spark.portable.text.tokens import words

_BEGINNINGS: Final = (
    ("CREATE", "TABLE"),
    ("CREATE", "OR", "REPLACE", "TABLE"),
    ("REPLACE", "TABLE"),
    ("ALTER", "TABLE"),
    ("TRUNCATE", "TABLE"),
    ("DROP", "TABLE"),
    ("SHOW", "CREATE", "TABLE"),
    ("SHOW", "TBLPROPERTIES"),
    ("SHOW", "COLUMNS"),
    ("SHOW", "PARTITIONS"),
    ("COMMENT", "ON", "TABLE"),
)
_BEFORE_NAMES: Final = frozenset({"IF", "NOT", "EXISTS", "IN", "FROM"})
_OF_A_NAME: Final = ("delta", ".", "`/a/path`")


def refuse_by_path(text: str) -> None:
    """Raise UnsupportedFeatureError for such a statement, and nothing for any other."""
    found = [word.text for word in words(text)]
    upper = [word.upper() for word in found]
    for beginning in _BEGINNINGS:
        if tuple(upper[: len(beginning)]) != beginning:
            continue
        rest = found[len(beginning) :]
        while rest and rest[0].upper() in _BEFORE_NAMES:
            rest = rest[1:]
        name = rest[: len(_OF_A_NAME)]
        if len(name) == len(_OF_A_NAME) and name[0].strip("`").lower() == "delta" and name[1] == "." and "/" in name[2]:
            what = f"{' '.join(beginning)} of a table by path in SQL"
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
