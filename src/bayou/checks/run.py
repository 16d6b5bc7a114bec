# SPDX-License-Identifier: Apache-2.0
"""Run the rules on a table."""

from __future__ import annotations

from collections.abc import Mapping

from bayou.checks.raw_log import RawLog, read_raw_log
from bayou.checks.report import Finding, Report
from bayou.checks.row_counts import CountRows
from bayou.checks.rule import Found, Reads, Rule
from bayou.checks.rules import RULES
from bayou.errors import failed, redact_uri
from bayou.storage import LogStore


def check_store(
    uri: str,
    store: LogStore,
    storage_options: Mapping[str, str],
    *,
    files: bool = False,
    footers: bool = False,
    count_rows: CountRows | None = None,
) -> Report:
    """Check the table of a store.

    Args:
        uri: the table.
        store: its store.
        storage_options: credentials and settings for stores of files outside the table.
        files: look also for data files and deletion vectors.
        footers: compare also footers.
        count_rows: counts the rows that violate conditions; None if rows are not read.
    """
    log = read_raw_log(uri, store, storage_options)
    log.count_rows = count_rows
    return report_of(log, files=files, footers=footers)


def report_of(log: RawLog, *, files: bool = False, footers: bool = False) -> Report:
    """Run the rules on a log that was read.

    Args:
        log: the log.
        files: look also for data files and deletion vectors.
        footers: compare also footers.
    """
    if not (log.commits or log.checkpoints or log.compactions or log.checksums):
        raise failed("DELTA_TABLE_NOT_FOUND", table=log.uri)
    unwanted = {Reads.FILES: not files, Reads.FOOTERS: not footers, Reads.ROWS: log.count_rows is None}
    rules = [each for each in RULES if not unwanted.get(each.reads)]
    found = [_finding(rule, each) for rule in rules for each in rule.run(log)]
    found.sort(key=lambda each: -each.severity)
    return Report(redact_uri(log.uri), log.version, len(rules), tuple(found))


def _finding(rule: Rule, found: Found) -> Finding:
    return Finding(
        rule.id,
        rule.severity,
        rule.section,
        rule.text,
        found.detail,
        found.file.path,
        found.line,
        found.action,
        found.file.writer,
        found.more,
    )
