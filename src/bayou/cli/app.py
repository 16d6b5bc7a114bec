# SPDX-License-Identifier: Apache-2.0
"""The commands of `bayou`, defined with click."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from bayou.cli import check, diff, facts, health, maintenance, repair, segment, versions
from bayou.cli import rows as shown_rows
from bayou.cli.layout import Column
from bayou.cli.output import AGE, escape, pairs, plain_time, print_facts, print_json, print_rows
from bayou.cli.process import INTERRUPTED, flushed
from bayou.cli.tables import example, open_table, table_argument
from bayou.errors import DeltaError, TableNotFoundError
from bayou.log.delta_log import DeltaLog
from bayou.log.segment.time_travel import split_path
from bayou.protocol.actions import exact_json
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.protocol.types.schema import schema_to_json
from bayou.report.units import size_text
from bayou.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bayou.log.snapshot.snapshot import Snapshot

_PROGRAM = "bayou"
_UNFINISHED: Final = 3
"""The exit code of a check or a repair that an error ended."""


def run(arguments: Sequence[str] | None) -> int:
    """Run the command line; every error is one line on standard error, and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name in a log may hold what the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    code = _outcome(sys.argv[1:] if arguments is None else arguments)
    return code if flushed(sys.stdout) else code or 1


class _Commands(click.Group):
    """A group of commands that prints nothing after a closed pipe or Ctrl-C. click would print an empty line after Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(1)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


def _outcome(arguments: Sequence[str]) -> int:
    """Run the command line, and report the error that ends it."""
    # The codes 0 to 2 of these commands say what is wrong with the table.
    code = _UNFINISHED if list(arguments[:1]) in (["check"], ["repair"]) else 1
    try:
        result = commands.main(args=list(arguments) or ["--help"], prog_name=_PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else _PROGRAM
        message = error.format_message().removesuffix(".")
        return _fail(f"{message}{'' if message.endswith(('?', '?)')) else '.'} Try '{where} --help'.", code)
    except click.ClickException as error:
        return _fail(error.format_message(), code)
    except BrokenPipeError:
        return 1
    except (DeltaError, OSError) as error:
        return _fail(str(error), code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    # click returns the exit code of --help and --version, and else what the command returned.
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    _say(message)
    return code


def _say(message: str) -> None:
    one_line = " ".join(message.split())
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{_PROGRAM}: {escape(one_line)}\n")
    flushed(sys.stderr)


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_as_of = _options(
    click.option("--version", type=click.IntRange(min=0), metavar="N", help="Use the table as of this version."),
    click.option("--timestamp", metavar="TIME", help="Use the table as of this time. UTC unless TIME has an offset."),
)
_limit = click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Print at most N rows.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=_PROGRAM)
def commands() -> None:
    """Inspect, check and maintain Delta tables without Spark and Java.

    TABLE is the path of a table. The output is a table in color on a terminal, and plain columns in a pipe. With --json,
    `history`, `files` and `show` print one JSON object per line, and the other commands one JSON document. An error prints one line
    on standard error, and the exit code is 1. For `check` and `repair` it is 3.
    """


@commands.command(epilog=example("bayou history /data/orders --limit 5"))
@table_argument
@_as_of
@_limit
@_json
def history(table: str, version: int | None, timestamp: str | None, limit: int | None, *, as_json: bool) -> None:
    """Show the commits of the table, newest first."""
    delta_log, snapshot = _open(table, version, timestamp, latest=_latest_readable)
    rows = map(facts.of_commit, delta_log.history(limit, version=snapshot.version))
    if as_json:
        for row in rows:
            print_json(row)
        return
    print_rows(
        (
            Column("version", is_number=True),
            Column("timestamp", on_terminal=plain_time, unless_wide=AGE),
            Column("operation", style="cyan"),
            Column("parameters", wraps=True, is_extra=True),
            Column("metrics", wraps=True, is_extra=True),
            Column("engine", style="dim", wraps=True, is_extra=True),
        ),
        (
            (
                row["version"],
                row["timestamp"],
                row["operation"],
                pairs(row["operationParameters"]),
                pairs(row["operationMetrics"]),
                row["engineInfo"],
            )
            for row in rows
        ),
    )


@commands.command(epilog=example("bayou detail /data/orders --version 12"))
@table_argument
@_as_of
@_json
def detail(table: str, version: int | None, timestamp: str | None, *, as_json: bool) -> None:
    """Show the id, size, properties and protocol of the table."""
    delta_log, snapshot = _open(table, version, timestamp)
    found = facts.of_table(snapshot, delta_log.committed_at(snapshot))
    (print_json if as_json else print_facts)(found)


@commands.command(epilog=example("bayou schema /data/orders --json"))
@table_argument
@_as_of
@_json
def schema(table: str, version: int | None, timestamp: str | None, *, as_json: bool) -> None:
    """Show the columns of the table.

    --json prints the schema as it is in the log.
    """
    snapshot = _snapshot(table, version, timestamp)
    columns = list(facts.of_columns(snapshot.schema, snapshot.partition_columns))
    if as_json:
        print_json(exact_json.loads(snapshot.metadata.schema_string or schema_to_json(snapshot.schema)))
        return
    print_rows(
        (Column("column", style="cyan"), Column("type", wraps=True), Column("nullable"), Column("remarks", wraps=True)),
        columns,
    )


@commands.command(epilog=example("bayou files /data/orders@v12 --limit 20"))
@table_argument
@_as_of
@_limit
@_json
def files(table: str, version: int | None, timestamp: str | None, limit: int | None, *, as_json: bool) -> None:
    """Show the data files of the table."""
    snapshot = _snapshot(table, version, timestamp)
    found = facts.of_files(snapshot, limit)
    if as_json:
        for file in found:
            print_json(file)
        return
    print_rows(
        (
            Column("size", is_number=True, on_terminal=size_text),
            Column("rows", is_number=True),
            Column("deleted", is_number=True),
            Column("partition", wraps=True, is_extra=True),
            Column("path", style="cyan", shortens=True),
        ),
        (
            (
                file["size"],
                file["stats"].get("numRecords") if isinstance(file["stats"], dict) else None,
                file["deletionVector"] and file["deletionVector"]["cardinality"],
                pairs({name: NULL_FOLDER if value is None else value for name, value in file["partitionValues"].items()}),
                file["path"],
            )
            for file in found
        ),
        total=snapshot.num_files,
    )


@commands.command(epilog=example('bayou show /data/orders --columns id,total --where "country = NZ" --limit 5'))
@table_argument
@_as_of
@click.option("--columns", metavar="A,B", help="Print only these columns, in this order.")
@click.option(
    "--where",
    multiple=True,
    metavar="FILTER",
    help='Print only matching rows, such as "day >= 2026-01-01". Repeat the option for several filters.',
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", default=20, show_default=True, help="Print at most N rows.")
@_json
def show(
    table: str,
    version: int | None,
    timestamp: str | None,
    columns: str | None,
    where: tuple[str, ...],
    limit: int,
    *,
    as_json: bool,
) -> None:
    """Show the first rows of the table."""
    snapshot = _snapshot(table, version, timestamp)
    chosen = None if columns is None else [each.strip() for each in columns.split(",")]
    names, kinds, found = shown_rows.first_rows(snapshot, chosen, shown_rows.filters(where, snapshot.schema), limit)
    if as_json:
        for row in found:
            print_json(dict(zip(names, row, strict=True)))
        return
    # A narrow terminal shows the first columns that fit.
    titles = [
        Column(escape(name), is_number=is_number, shortens=not is_number, is_extra=index > 0)
        for index, (name, is_number) in enumerate(zip(names, kinds, strict=True))
    ]
    print_rows(titles, ([shown_rows.cell(value) for value in row] for row in found))


@commands.command(epilog=example("bayou log s3://bucket/orders"))
@table_argument
@_as_of
@_json
def log(table: str, version: int | None, timestamp: str | None, *, as_json: bool) -> None:
    """Show the log files that make up the snapshot.

    These are the checkpoint, its sidecars, the commits after it, and the checksum.
    """
    delta_log, snapshot = _open(table, version, timestamp)
    found = list(segment.files(snapshot, delta_log.store))
    hint = segment.last_checkpoint(delta_log.store)
    if as_json:
        listed = [file.to_json() for file in found]
        print_json({"version": snapshot.version, "lastCheckpoint": hint, "files": listed})
        return
    print_facts(segment.summary(snapshot, hint))
    click.echo()
    print_rows(
        (
            Column("kind"),
            Column("versions", is_number=True),
            Column("size", is_number=True, on_terminal=size_text),
            Column("modified", on_terminal=plain_time, unless_wide=AGE),
            Column("path", style="cyan", shortens=True),
        ),
        [file.to_row() for file in found],
    )


for _command in (*maintenance.COMMANDS, *check.COMMANDS, *repair.COMMANDS, *diff.COMMANDS, *health.COMMANDS, versions.versions):
    commands.add_command(_command)


def _snapshot(table: str, version: int | None, timestamp: str | None) -> Snapshot:
    return _open(table, version, timestamp)[1]


def _latest_readable(delta_log: DeltaLog) -> Snapshot:
    snapshot, failure = delta_log.latest_readable()
    if failure is not None:
        _say(f"warning: version {snapshot.version} is the latest that can be read: {failure}")
    return snapshot


def _open(
    table: str, version: int | None, timestamp: str | None, *, latest: Callable[[DeltaLog], Snapshot] = lambda log: log.update()
) -> tuple[DeltaLog, Snapshot]:
    """Return a table's log and the requested snapshot. `path@v12` is version 12, unless a folder has that name."""
    delta_log = open_table(table)
    try:
        return delta_log, latest(delta_log) if version is None and timestamp is None else delta_log.snapshot(version, timestamp)
    except TableNotFoundError:
        travel = split_path(table) if version is None and timestamp is None else None
        if travel is None:
            raise
        delta_log = open_table(travel.path)
        return delta_log, delta_log.snapshot(travel.version, travel.timestamp)
