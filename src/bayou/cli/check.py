# SPDX-License-Identifier: Apache-2.0
"""The command that checks a table against the Delta protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayou.cli.layout import Column
from bayou.cli.output import print_json, print_rows
from bayou.cli.tables import example, storage_options, table_argument
from bayou.full_check import check as run_check
from bayou.repairs.repair import REPAIRS

if TYPE_CHECKING:
    from bayou.checks.report import Finding, Report


@click.command(epilog=example("bayou check /data/orders --files --footers"))
@table_argument
@click.option("--files", is_flag=True, help="Also check that data files and deletion vectors exist with the right size.")
@click.option("--footers", is_flag=True, help="Also compare the footers of data files with the schema and the statistics.")
@click.option("--rows", is_flag=True, help="Also read all rows on Spark, and count those that violate constraints.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def check(table: str, *, files: bool, footers: bool, rows: bool, as_json: bool) -> int:
    """Check whether a table follows the Delta protocol.

    The table may be written by any engine. The command changes nothing.

    The exit code is 2 if a finding is broken, 1 if a finding is risky, and 0 otherwise. It is 3 if the check fails.
    """
    report = run_check(table, files=files, footers=footers, rows=rows, storage_options=storage_options())
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report)
    return report.exit_code


def _print_report(report: Report) -> None:
    if report.findings:
        columns = (
            *(Column("severity"), Column("rule", style="cyan"), Column("place", wraps=True, apart=""), Column("action")),
            *(Column("writer", style="dim", wraps=True, apart="written by "), Column("finding", wraps=True, apart="")),
        )
        print_rows(columns, map(_row, report.findings), total=len(report.findings))
        click.echo()
    counts = ", ".join(f"{count} {name}" for name, count in report.counts.items())
    click.echo(f"Version {report.version}, {report.rules} rules: {counts}.")
    if any(each.rule in REPAIRS for each in report.findings):
        click.echo("`bayou repair` shows which findings it can repair.")


def _row(each: Finding) -> tuple[str | None, ...]:
    more = f" (and {each.more:,} more)" if each.more else ""
    return (each.severity.name.lower(), each.rule, each.place, each.action, each.writer, each.detail + more)


COMMANDS = (check,)
