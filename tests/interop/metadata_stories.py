# SPDX-License-Identifier: Apache-2.0
"""Statements about metadata, in stories: each is run by delta-spark and by bayou, on a table of its own.

A step is a statement for both, with `{t}` for the table at its path, or `{n}` for its name and `{p}` for the path. Where bayou
has a method and no statement it is a pair: the statement for delta-spark, and what bayou does with the table's `DeltaTable`.
"""

from __future__ import annotations

from tests.interop.altered_table_stories import ALTERED
from tests.interop.created_table_stories import CREATED, REPLACED
from tests.interop.property_stories import METHODS, PROPERTIES, WITHOUT_CHANGE, WRITTEN

STORIES = {
    f"{group}: {name}": steps
    for group, stories in {
        "create": CREATED,
        "replace": REPLACED,
        "alter": ALTERED,
        "properties": PROPERTIES,
        "methods": METHODS,
        "no change": WITHOUT_CHANGE,
        "write": WRITTEN,
    }.items()
    for name, steps in stories.items()
}
