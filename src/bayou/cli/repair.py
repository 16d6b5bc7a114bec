# SPDX-License-Identifier: Apache-2.0
"""The command that repairs what `bayou check` finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayou.cli.layout import Column
from bayou.cli.output import pairs, print_json, print_rows
from bayou.cli.tables import example, storage_options, table_argument
from bayou.log.actions.columns import to_objects
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.repairs.run import repair as run_repair
from bayou.report.units import count_text, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.log.operations.fsck import FsckResult
    from bayou.repairs.plan import Step
    from bayou.repairs.run import RepairResult


@click.command(epilog=example("bayou repair /data/orders --files"))
@table_argument
@click.option("--files", is_flag=True, help="Also check that data files and deletion vectors exist with the right size.")
@click.option("--footers", is_flag=True, help="Also compare the footers of data files with the schema and the statistics.")
@click.option(
    "--allow-loss",
    is_flag=True,
    help="Remove missing and unreadable data files, and those that only a wrong checkpoint names. Their rows are lost.",
)
@click.option("--yes", is_flag=True, help="Make the changes. Without this option, the command only prints what it would do.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def repair(table: str, *, files: bool, footers: bool, allow_loss: bool, yes: bool, as_json: bool) -> int:
    """Repair what `bayou check` finds, without changing a commit.

    The command rewrites checkpoints, checksums and compacted files, and may add commits. With --yes, the exit code is
    the exit code of `bayou check` after the repair.
    """
    result = run_repair(
        table, files=files, footers=footers, allow_loss=allow_loss, dry_run=not yes, storage_options=storage_options()
    )
    if as_json:
        print_json(result.to_json())
    else:
        _print_result(result)
    return 0 if result.after is None else result.after.exit_code


def _print_result(result: RepairResult) -> None:
    if result.steps:
        columns = (Column("step", style="cyan"), Column("state"), Column("rule"), Column("file", shortens=True))
        print_rows(columns, [row for each in result.steps for row in _rows(each)])
        for name, why in dict.fromkeys((each.repair.value, each.blocked) for each in result.steps if each.blocked):
            click.echo(f"{name} is blocked:\n  {why}")
        for name, loss in dict.fromkeys((each.repair.value, each.loss) for each in result.steps if each.loss and not each.blocked):
            click.echo(f"{name} loses rows:\n  {loss}")
        click.echo()
    if result.lost is not None and result.lost.files.num_rows:
        _print_lost(result.lost, is_planned=result.lost.version is None)
    if result.without_repair:
        rows = ((each.severity.name.lower(), each.rule, each.place, each.detail) for each in result.without_repair)
        click.echo("These findings have no repair:")
        titles = (
            *(Column("severity"), Column("rule", style="cyan")),
            *(Column("place", wraps=True, apart=""), Column("finding", wraps=True, apart="")),
        )
        print_rows(titles, rows, total=len(result.without_repair))
        click.echo()
    if result.after is None:
        if any(not each.blocked for each in result.steps):
            click.echo("Nothing was changed. Add --yes to do it.")
        else:
            click.echo("Nothing can be repaired." if result.before.findings else "There is nothing to repair.")
    else:
        counts = ", ".join(f"{count} {name}" for name, count in result.after.counts.items())
        click.echo(f"Version {result.after.version} after the repair: {counts}.")


def _print_lost(lost: FsckResult, *, is_planned: bool) -> None:
    columns = (
        *(Column("rows", is_number=True), Column("size", is_number=True, on_terminal=size_text)),
        *(Column("partition", wraps=True, is_extra=True), Column("path", style="cyan", shortens=True)),
        Column("reason", wraps=True),
    )
    rows = (
        (row["numRecords"], row["size"], pairs(row["partitionValues"]), row["dataFilePath"], row["reason"])
        for row in to_objects(lost.files.to_struct_array())
    )
    count = "an unknown number of rows" if lost.lost_rows is None else count_text(lost.lost_rows, "row")
    click.echo(f"{count_text(lost.files.num_rows, 'file')} with {count} {'would leave' if is_planned else 'left'} the log:")
    print_rows(columns, rows, total=lost.files.num_rows)
    click.echo()


def _rows(each: Step) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield a row for each rule of a step, with the first of its files."""
    more = f" and {len(each.files) - 1:,} more" if len(each.files) > 1 else ""
    file = f"{each.files[0].removeprefix(f'{LOG_FOLDER}/')}{more}" if each.files else None
    for rule in each.rules:
        yield each.repair.value, each.state, rule, file


COMMANDS = (repair,)
