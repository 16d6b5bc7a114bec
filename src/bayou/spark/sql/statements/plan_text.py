# SPDX-License-Identifier: Apache-2.0
"""Format the output of EXPLAIN for the statements that only Delta Lake has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from bayou.errors import redact_text, redact_uri
from bayou.log.segment.time_travel import format_timestamp
from bayou.report.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from bayou.log.operations.clone import CloneResult
    from bayou.log.operations.fsck import FsckResult
    from bayou.log.operations.restore import RestoreResult
    from bayou.log.operations.vacuum import VacuumResult
    from bayou.plan.maintenance.compaction import CompactionPlan
    from bayou.protocol.evolution.drop_feature import DropFeaturePlan

_MOST_FILES: Final = 20
"""The maximum number of files to list."""


def plan_text(statement: str, mode: str, lines: Iterable[str]) -> str:
    """Return the output of EXPLAIN.

    Args:
        statement: the statement, without secrets.
        mode: the word after EXPLAIN, in capitals, or empty.
    """
    head = ["== Parsed Logical Plan ==", f"DeltaStatement {statement}", ""] if mode == "EXTENDED" else []
    plan = ["== Physical Plan ==", "Execute DeltaStatement", f"   +- DeltaStatement {statement}", ""]
    return "\n".join([*head, *plan, "== Delta Plan ==", *lines, ""])


def redacted(lines: Iterable[str]) -> list[str]:
    """Remove the secrets that paths and properties may hold."""
    return [redact_text(line) for line in lines]


def table_line(uri: str, version: int | None = None) -> str:
    """Describe the table and its version."""
    return f"Table: {redact_uri(uri)}" + ("" if version is None else f", version {version}")


def compaction_lines(plan: CompactionPlan) -> list[str]:
    """Describe the files that OPTIMIZE or REORG would rewrite together, and why."""
    lines = ["Would rewrite no file, and commit nothing."]
    if plan.num_bins:
        bins, partitions = count_text(plan.num_bins, "bin"), count_text(plan.partitions, "partition")
        lines = [
            f"Would rewrite {_files(plan.num_files, plan.num_bytes)} of {plan.files.num_rows} in {bins} of {partitions}.",
            f"A new file gets about {plan.sizes.target:,} bytes at most.",
        ]
    lines += [f"Would leave {count_text(count, 'file')}: {reason}." for reason, count in sorted(plan.untouched.items())]
    rewritten = plan.files.filter(pc.is_valid(plan.files["bin"])).sort_by([("bin", "ascending"), ("path", "ascending")])
    rows = rewritten.slice(0, _MOST_FILES).to_pylist()
    lines += [f"  bin {row['bin']}: {row['path']}, {row['size']:,} bytes: {row['reason']}" for row in rows]
    return [*lines, *_more(rewritten.num_rows)]


def vacuum_lines(result: VacuumResult) -> list[str]:
    """Describe the files that VACUUM would delete."""
    return [
        (
            f"Would delete {_files(result.files.num_rows, result.size_bytes)} that no version needs since "
            f"{format_timestamp(result.cutoff)}. Looked at {count_text(result.num_folders, 'folder')} ({result.kind.upper()})."
        ),
        *_paths(result.files),
    ]


def fsck_lines(result: FsckResult) -> list[str]:
    """Describe the files that FSCK REPAIR TABLE would remove from the log."""
    if not result.files.num_rows:
        return ["All files exist. Would commit nothing."]
    rows = "an unknown number of rows" if result.lost_rows is None else count_text(result.lost_rows, "row")
    removed = _files(result.files.num_rows, pc.sum(result.files["size"]).as_py())
    return [f"Would remove {removed} from the log, with {rows}.", *_paths(result.files.rename_columns({"dataFilePath": "path"}))]


def restore_lines(result: RestoreResult, latest: int) -> list[str]:
    """Describe the changes of RESTORE."""
    if result.restored_version == latest:
        return ["The table is at that version. Would commit nothing."]
    return [
        f"Would restore version {result.restored_version}.",
        (
            f"Would add {_files(result.num_restored_files, result.restored_bytes)}, and remove "
            f"{_files(result.num_removed_files, result.removed_bytes)}."
        ),
        f"The table would have {_files(result.num_files, result.size_bytes)}. Whether the added files still exist is not checked.",
    ]


def clone_lines(result: CloneResult, *, is_shallow: bool) -> list[str]:
    """Describe the files that CLONE would copy and remove."""
    source = f"version {result.source_version} of the source, {_files(result.num_source_files, result.source_bytes)}"
    copies = f"Would copy {_files(result.num_copied_files, result.copied_bytes)}"
    return [
        f"Would clone {source}.",
        "Would copy no file: the clone refers to the source's files." if is_shallow else f"{copies}.",
        f"Would remove {_files(result.num_removed_files, result.removed_bytes)} of the table that is replaced.",
    ]


def feature_lines(plan: DropFeaturePlan) -> list[str]:
    """Describe the steps of DROP FEATURE, in order."""
    lines = [f"Would drop the feature {plan.feature}."]
    if plan.unset_first:
        lines.append(f"Would unset {', '.join(plan.unset_first)}.")
    lines += [f"Would set {key} to {value}." for key, value in plan.set_properties.items()]
    lines += [f"Would {each.name.lower().replace('_', ' ')} where there is something to undo." for each in plan.actions]
    if plan.barriers:
        lines.append(f"Would make {count_text(plan.barriers, 'empty commit')}, each with a checkpoint.")
    if plan.truncates_history:
        lines.append("Would truncate the history that knows the feature.")
    protocol = plan.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    named = f", features: {', '.join(features)}" if features else ""
    lines.append(f"Protocol afterwards: reader {protocol.min_reader_version}, writer {protocol.min_writer_version}{named}.")
    return lines


def _files(count: int, size: int) -> str:
    return f"{count_text(count, 'file')} ({size:,} bytes)"


def _paths(files: pa.Table) -> Iterator[str]:
    shown: Sequence[str] = files["path"].slice(0, _MOST_FILES).to_pylist()
    yield from (f"  {path}" for path in shown)
    yield from _more(files.num_rows)


def _more(count: int) -> list[str]:
    return [f"  and {count - _MOST_FILES:,} more files"] if count > _MOST_FILES else []
