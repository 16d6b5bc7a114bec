# SPDX-License-Identifier: Apache-2.0
"""The command that shows the health of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayou.cli.layout import Column
from bayou.cli.output import escape, print_facts, print_json, print_rows
from bayou.cli.tables import example, open_table, table_argument
from bayou.errors import reason
from bayou.health_report.collect import health_of
from bayou.report.units import size_text

if TYPE_CHECKING:
    from bayou.health_report.report import Health

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command(epilog=example("bayou health /data/orders --html health.html"))
@table_argument
@click.option("--folders", is_flag=True, help="Also list the folder of the table, to find all files that VACUUM would delete.")
@click.option(
    "--html", "page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write an HTML page with plots to FILE."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def health(table: str, page: Path | None, *, folders: bool, as_json: bool) -> None:
    """Show what makes a table slow or large, and what helps.

    The command changes nothing.
    """
    found = health_of(open_table(table), folders=folders)
    if page is not None:
        _write(page, found.to_html())
    if as_json:
        print_json(found.to_json())
    elif page is None:
        _print(found)


def _write(page: Path, text: str) -> None:
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"the file cannot be written: {reason(error)}"
        raise click.BadParameter(message, param_hint="--html") from error


def _print(health: Health) -> None:
    print_facts({name: value for name, value in health.facts().items() if value is not None})
    sizes = health.sizes
    largest = max((each.files for each in sizes.classes), default=0)
    _section(
        "File sizes",
        (Column("size"), _share(largest, sizes.files), _count("files"), _size("bytes")),
        [(each.text, _part(each.files, sizes.files), each.files, each.bytes) for each in sizes.classes if each.files],
    )
    if sizes.num_partitions > 1:
        most = max(each.files for each in sizes.partitions)
        _section(
            "Partitions with the most small files",
            (
                Column("partition", style="cyan", shortens=True),
                _share(most, sizes.files),
                _count("files"),
                _count("small"),
                _size("bytes"),
            ),
            [(each.text, _part(each.files, sizes.files), each.files, each.small_files, each.bytes) for each in sizes.partitions],
        )
    _section(
        "Files that a point filter reads",
        (
            Column("column", style="cyan", shortens=True),
            _share(1, 1),
            _count("average"),
            _count("most"),
            _count("no statistics"),
        ),
        [
            (each.name, _part(each.average_reads, sizes.files), round(each.average_reads, 1), each.most_reads, each.missing)
            for each in (health.columns if sizes.files else ())
        ],
    )
    for each in health.advice:
        click.echo()
        for line in (each.why, f"  {each.sql or each.python}", f"  {each.effect}"):
            click.echo(escape(line))
    if not health.advice:
        click.echo()
        click.echo("Nothing to do: the table is in good health.")


def _section(title: str, columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> None:
    if rows:
        click.echo()
        click.echo(title)
        print_rows(columns, rows)


def _share(largest: float, whole: float) -> Column:
    """Return a column of shares. A terminal shows each as a bar, which has its full length at `largest` of `whole`."""

    def drawn(share: float) -> str:
        eighths = round(_BAR_WIDTH * 8 * share * whole / (largest or 1))
        return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()

    return Column("share", on_terminal=drawn, style="green")


def _part(number: float, whole: int) -> float:
    """Return a share with three significant digits: a pipe gets it as it is."""
    return float(f"{number / whole:.3g}")


def _count(title: str) -> Column:
    return Column(title, is_number=True, on_terminal=lambda value: f"{value:,}")


def _size(title: str) -> Column:
    return Column(title, is_number=True, on_terminal=size_text)


COMMANDS = (health,)
