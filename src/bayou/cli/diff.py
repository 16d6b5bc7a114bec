# SPDX-License-Identifier: Apache-2.0
"""The command that compares two versions of a table, or two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayou.cli.layout import Column
from bayou.cli.output import AGE, pairs, plain_time, print_json, print_rows, utc
from bayou.cli.tables import complete_folder, example, storage_options, table_argument
from bayou.diffs.run import diff as run_diff
from bayou.report.units import size_text

if TYPE_CHECKING:
    from bayou.diffs.difference import Difference, Side
    from bayou.log.segment.history import HistoryEntry


@click.command(epilog=example("bayou diff /data/orders 3 7 --files"))
@table_argument
@click.argument("first", shell_complete=complete_folder)
@click.argument("second", required=False, shell_complete=complete_folder)
@click.option("--files", is_flag=True, help="Also list the files that differ.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def diff(table: str, first: str, second: str | None, *, files: bool, as_json: bool) -> None:
    """Compare two versions of a table, or two tables.

    FIRST and SECOND are versions, timestamps, or paths of tables. Without SECOND, the command compares FIRST
    with the latest version of TABLE.
    """
    result = run_diff(table, first, second, storage_options=storage_options())
    if as_json:
        document = result.to_json()
        print_json(document if files else {name: each for name, each in document.items() if name != "files"})
        return
    _print_changes(result)
    _print_partitions(result)
    if files:
        _print_files(result)
    _print_operations(result)
    many = f"{len(result.changes):,} facts and {result.files.num_rows:,} files differ"
    before, after = result.before, result.after
    is_one = before.table == after.table
    click.echo(f"{_shown(before, is_one)} to {_shown(after, is_one)}: {many}.")


def _print_changes(result: Difference) -> None:
    if not result.changes:
        return
    columns = (
        *(Column("part"), Column("name", style="cyan", wraps=True), Column("change")),
        *(Column("before", wraps=True), Column("after", wraps=True)),
    )
    print_rows(columns, ((each.part, each.name, each.kind, each.before, each.after) for each in result.changes))
    click.echo()


def _print_partitions(result: Difference) -> None:
    if not result.files.num_rows:
        return
    columns = (
        *(Column(name, is_number=True) for name in ("added", "removed", "changed")),
        *(Column("rows", is_number=True), Column("bytes", is_number=True, on_terminal=_signed_size)),
        Column("partition", style="cyan", wraps=True),
    )
    found = result.partitions
    rows = (
        (each["added"], each["removed"], each["changed"], _signed(each["rows"]), each["bytes"], each["partition"] or None)
        for each in found.to_pylist()
    )
    print_rows(columns, rows, total=found.num_rows)
    click.echo()


def _print_files(result: Difference) -> None:
    columns = (
        *(Column("change"), Column("rows", is_number=True), Column("size", is_number=True, on_terminal=size_text)),
        Column("path", style="cyan", shortens=True),
    )
    rows = (
        (
            each["change"],
            each["rowsBefore"] if each["change"] == "removed" else each["rowsAfter"],
            each["sizeBefore"] if each["change"] == "removed" else each["sizeAfter"],
            each["path"],
        )
        for batch in result.files.to_batches(max_chunksize=1_000)
        for each in batch.to_pylist()
    )
    print_rows(columns, rows, total=result.files.num_rows)
    click.echo()


def _print_operations(result: Difference) -> None:
    if not result.operations:
        return
    columns = (
        *(Column("version", is_number=True), Column("timestamp", on_terminal=plain_time, unless_wide=AGE)),
        *(Column("operation", style="cyan"), Column("metrics", wraps=True, is_extra=True)),
    )
    print_rows(columns, map(_operation, result.operations), total=len(result.operations))
    click.echo()


def _operation(each: HistoryEntry) -> tuple[int, str | None, str | None, str | None]:
    return each.version, utc(each.timestamp), each.operation, pairs(each.operation_metrics)


def _shown(side: Side, is_one: bool) -> str:  # noqa: FBT001  (whether both sides are of one table)
    return f"version {side.version}" if is_one else f"version {side.version} of {side.table}"


def _signed(number: int | None) -> str | None:
    return None if number is None else f"{number:+,}"


def _signed_size(size: int | None) -> str | None:
    return None if size is None else f"{'-' if size < 0 else '+'}{size_text(abs(size))}"


COMMANDS = (diff,)
