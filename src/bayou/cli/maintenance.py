# SPDX-License-Identifier: Apache-2.0
"""The commands that maintain a table. Commands that delete files or commit only print their plan without `--yes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayou.cli.layout import Column
from bayou.cli.output import print_facts, print_json, print_rows
from bayou.cli.tables import complete_folder, example, open_table, pair, storage_options, table_argument
from bayou.log.segment.time_travel import format_timestamp
from bayou.report.units import size_text

if TYPE_CHECKING:
    from bayou.log.operations.vacuum import VacuumResult

_PLAN_ONLY = "Nothing was changed. Add --yes to do it."

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_yes = click.option("--yes", is_flag=True, help="Make the changes. Without this option, the command only prints what it would do.")


@click.command(epilog=example("bayou vacuum /data/orders --hours 168"))
@table_argument
@click.option(
    "--hours", type=float, metavar="H", help="Keep files for H hours after they were removed from the table. H may be a fraction."
)
@click.option("--lite", is_flag=True, help="Find old files in the log only, without listing folders.")
@click.option(
    "--keep-version", "keep", type=click.IntRange(min=0), multiple=True, metavar="N", help="Keep the files of this version."
)
@click.option("--force", is_flag=True, help="Allow fewer hours than delta.deletedFileRetentionDuration.")
@_yes
@_json
def vacuum(table: str, hours: float | None, keep: tuple[int, ...], *, lite: bool, force: bool, yes: bool, as_json: bool) -> None:
    """Delete files that the table no longer needs.

    Files that were removed from the table within delta.deletedFileRetentionDuration are kept.
    """
    log = open_table(table)
    result = log.vacuum(
        hours, kind="lite" if lite else "full", dry_run=not yes, keep_versions=list(keep), check_retention=not force
    )
    facts = {
        "table": result.table_uri,
        "kind": result.kind,
        "notNeededSince": format_timestamp(result.cutoff),
        "files": result.files.num_rows,
        "bytes": result.size_bytes,
        "deleted": result.deleted,
        "failed": [f"{path}: {error.message}" for path, error in result.failed.items()],
    }
    if as_json:
        print_json({**facts, "paths": result.files["path"].to_pylist()})
    else:
        _print_files(result)
        print_facts(facts)
        _print_plan_only(yes)
    result.check_deleted()


@click.command(epilog=example("bayou restore /data/orders --version 12 --yes"))
@table_argument
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Restore this version.")
@click.option("--timestamp", metavar="TIME", help="Restore the latest version at this time. UTC unless TIME has an offset.")
@click.option("--ignore-missing-files", is_flag=True, help="Restore the remaining files if files of that version are missing.")
@_yes
@_json
def restore(
    table: str, version: int | None, timestamp: str | None, *, ignore_missing_files: bool, yes: bool, as_json: bool
) -> None:
    """Restore the table to an earlier version.

    The command adds a commit. All versions stay in the log.
    """
    log = open_table(table)
    result = log.restore(version, timestamp, ignore_missing_files=ignore_missing_files, dry_run=not yes)
    facts: dict[str, Any] = {
        "table": log.table_uri,
        "restoredVersion": result.restored_version,
        "committedVersion": result.version,
        **result.metrics,
        "missingFiles": list(result.missing),
        "laterBatches": dict(result.later_batches),
    }
    if as_json:
        print_json(facts)
        return
    print_facts(facts)
    _print_plan_only(yes)


@click.command(epilog=example("bayou clone /data/orders /data/copy --shallow --yes"))
@table_argument
@click.argument("target", shell_complete=complete_folder)
@click.option("--shallow", is_flag=True, help="Use the data files of the table instead of copying them.")
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Clone this version.")
@click.option("--timestamp", metavar="TIME", help="Clone the latest version at this time. UTC unless TIME has an offset.")
@click.option("--replace", is_flag=True, help="Replace an existing table at TARGET.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="Set a table property of the clone.")
@_yes
@_json
def clone(
    table: str,
    target: str,
    version: int | None,
    timestamp: str | None,
    properties: tuple[str, ...],
    *,
    shallow: bool,
    replace: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy the table to TARGET, as a new table."""
    result = open_table(table).clone(
        target,
        shallow=shallow,
        replace=replace,
        properties=dict(pair(each, "--property") for each in properties),
        version=version,
        timestamp=timestamp,
        dry_run=not yes,
        storage_options=storage_options(),
    )
    facts: dict[str, Any] = {
        "table": result.table_uri,
        "sourceVersion": result.source_version,
        "committedVersion": result.version,
        **result.metrics,
    }
    if as_json:
        print_json(facts)
        return
    print_facts(facts)
    _print_plan_only(yes)


@click.command(epilog=example("bayou checkpoint /data/orders"))
@table_argument
@_json
def checkpoint(table: str, *, as_json: bool) -> None:
    """Write a checkpoint of the latest version.

    The table then opens faster. The command deletes no file and adds no commit.
    """
    log = open_table(table)
    written = log.checkpoint()
    facts = {"table": log.table_uri, "version": written.version}
    (print_json if as_json else print_facts)(facts)


@click.command(epilog=example("bayou compact /data/orders 100 199"))
@table_argument
@click.argument("start", type=click.IntRange(min=0))
@click.argument("end", type=click.IntRange(min=0))
@_json
def compact(table: str, start: int, end: int, *, as_json: bool) -> None:
    """Write a compacted log file of several commits.

    The file contains the commits from version START to version END. Readers open it instead of these commits.
    """
    log = open_table(table)
    facts = {"table": log.table_uri, "path": log.compact(start, end)}
    (print_json if as_json else print_facts)(facts)


@click.command(epilog=example("bayou manifest /data/orders"))
@table_argument
@_json
def manifest(table: str, *, as_json: bool) -> None:
    """Write manifests for engines that cannot read the log.

    The manifests (symlink_format_manifest) list the data files of the table.
    """
    log = open_table(table)
    found = log.generate_manifests()
    facts = {"table": log.table_uri, "version": found.version, "written": list(found.written), "deleted": list(found.deleted)}
    (print_json if as_json else print_facts)(facts)


def _print_files(result: VacuumResult) -> None:
    columns = (Column("size", is_number=True, on_terminal=size_text), Column("path", style="cyan", shortens=True))
    rows = zip(result.files["size"].to_pylist(), result.files["path"].to_pylist(), strict=True)
    print_rows(columns, rows, total=result.files.num_rows)
    click.echo()


def _print_plan_only(yes: bool) -> None:  # noqa: FBT001  (the option of that name)
    if not yes:
        click.echo(_PLAN_ONLY)


COMMANDS = (vacuum, restore, clone, manifest, checkpoint, compact)
