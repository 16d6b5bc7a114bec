# SPDX-License-Identifier: Apache-2.0
"""The rules of the check, one file per section of PROTOCOL.md."""

from __future__ import annotations

from typing import Final

from bayou.check.rule import Rule, Section
from bayou.check.rules import (
    checkpoints,
    checksums,
    column_mapping,
    columns,
    data_files,
    deletion_vectors,
    features,
    files,
    log_entries,
    metadata,
    other_actions,
    protocol,
    row_tracking,
    schema,
    statistics,
)

SECTIONS: Final[tuple[Section, ...]] = tuple(
    section
    for module in (
        *(log_entries, metadata, files, protocol, other_actions, checkpoints, checksums, column_mapping, deletion_vectors),
        *(row_tracking, features, columns, schema, statistics, data_files),
    )
    for section in module.SECTIONS
)
"""All sections, in the order of the page."""

RULES: Final[tuple[Rule, ...]] = tuple(rule for section in SECTIONS for rule in section.rules)
"""The table of rules."""
