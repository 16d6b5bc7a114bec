# SPDX-License-Identifier: Apache-2.0
"""Run the rules on a table."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bayou.checks.raw_log import RawLog, read_raw_log
from bayou.checks.report import Finding, Report
from bayou.checks.rule import Found, Reads, Rule
from bayou.checks.rules import RULES
from bayou.errors import failed, redact_uri
from bayou.protocol import arguments
from bayou.storage import LogStore, open_store, qualify


def check(
    path: str | os.PathLike[str],
    *,
    files: bool = False,
    footers: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Report:
    """Check a table by any writer against the Delta protocol, without Spark.

    Reads every file of the log. The replay of `bayou.open` is not used, so that the check does not share its mistakes.

    Example:
        bayou.check("/data/orders", files=True).exit_code

    Args:
        path: the table's path or URI.
        files: look also whether the data files and the deletion vectors exist and have the stated sizes.
        footers: compare also the footers of data files with the schema and the statistics.
        storage_options: credentials and settings of the store.

    Raises:
        TableNotFoundError: the path has no Delta log.
        StorageError: the store cannot be read.
    """
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    return check_store(place.uri, open_store(place, options), options, files=files, footers=footers)


def check_store(
    uri: str, store: LogStore, storage_options: Mapping[str, str], *, files: bool = False, footers: bool = False
) -> Report:
    """Check the table of a store; see `check`.

    Args:
        uri: the table.
        store: its store.
        storage_options: credentials and settings for stores of files outside the table.
        files: look also for data files and deletion vectors.
        footers: compare also footers.
    """
    return report_of(read_raw_log(uri, store, storage_options), files=files, footers=footers)


def report_of(log: RawLog, *, files: bool = False, footers: bool = False) -> Report:
    """Run the rules on a log that was read; see `check`.

    Args:
        log: the log.
        files: look also for data files and deletion vectors.
        footers: compare also footers.
    """
    if not (log.commits or log.checkpoints or log.compactions or log.checksums):
        raise failed("DELTA_TABLE_NOT_FOUND", table=log.uri)
    unwanted = {Reads.FILES: not files, Reads.FOOTERS: not footers}
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
