# SPDX-License-Identifier: Apache-2.0
"""The rules of the check, one file per section of PROTOCOL.md."""

from __future__ import annotations

from typing import Final

from bayou.checks.rule import Rule, Section
from bayou.checks.rules import (
    checkpoints,
    checksums,
    files,
    log_entries,
    metadata,
    other_actions,
    protocol,
)

SECTIONS: Final[tuple[Section, ...]] = tuple(
    section
    for module in (*(log_entries, metadata, files, protocol, other_actions, checkpoints, checksums),)
    for section in module.SECTIONS
)
"""All sections, in the order of the page."""

RULES: Final[tuple[Rule, ...]] = tuple(rule for section in SECTIONS for rule in section.rules)
"""The table of rules."""
