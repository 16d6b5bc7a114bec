# SPDX-License-Identifier: Apache-2.0
"""Tags of a commit that say how little its metadata change: delta-spark's writers go on top of such a commit.

bayou's own writers compare the metadata; other writers leave the tags out. Source: delta-spark's `ConflictChecker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.protocol import properties
from bayou.protocol.columns.identity_rules import IdentityConflict, identity_conflict

if TYPE_CHECKING:
    from bayou.protocol.actions.actions import Metadata

_MARKS_ALONE: Final = "delta.identity.schemaUpdate"
_ROW_TRACKING_ALONE: Final = "rowTrackingEnablementOnly"
_OF_ROW_TRACKING: Final = frozenset(
    each.key
    for each in (properties.ENABLE_ROW_TRACKING, properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)
)


def metadata_tags(before: Metadata, after: Metadata) -> dict[str, str]:
    """The tags of a commit that sets metadata.

    Args:
        before: the table's metadata before.
        after: those that the commit sets.
    """
    if before != after and identity_conflict(before, after, ()) is IdentityConflict.TAKE_MARKS:
        return {_MARKS_ALONE: "true"}
    return {_ROW_TRACKING_ALONE: "true"} if _enables_row_tracking_alone(before, after) else {}


def _enables_row_tracking_alone(before: Metadata, after: Metadata) -> bool:
    enabled = properties.ENABLE_ROW_TRACKING
    if enabled.read(before.configuration) or not enabled.read(after.configuration):
        return False
    return replace(before, configuration=_others(before)) == replace(after, configuration=_others(after))


def _others(metadata: Metadata) -> Mapping[str, str]:
    return {key: value for key, value in metadata.configuration.items() if key not in _OF_ROW_TRACKING}
