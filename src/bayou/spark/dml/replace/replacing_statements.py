# SPDX-License-Identifier: Apache-2.0
"""Check the columns of INSERT ... REPLACE USING and REPLACE ON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed

if TYPE_CHECKING:
    from collections.abc import Sequence


def refuse_ambiguous_names(columns: Sequence[str], table: str) -> None:
    """Refuse columns whose names are ambiguous in the writer's option `replaceUsing`, which is a list separated by commas."""
    ambiguous = [each for each in columns if each != each.strip() or set(each) & {",", "`"}]
    if ambiguous:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/replace-using", table=table, column=ambiguous[0], features=["REPLACE USING"])


def refuse_other_names(found: Sequence[str], wanted: Sequence[str], table: str) -> None:
    """Refuse rows whose names differ from the target columns, if a REPLACE ON matches columns by position."""
    if [each.lower() for each in found] == [each.lower() for each in wanted]:
        return
    raise failed(
        "DELTA_INSERT_COLUMN_MISMATCH/replace-on",
        table=table,
        found=found,
        wanted=wanted,
        problems=("the names of the columns are not those of the table",),
    )
