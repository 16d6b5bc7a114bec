# SPDX-License-Identifier: Apache-2.0
"""Row tracking: the ids of new rows and their commit versions.

A file's rows have the ids from its `baseRowId` on, in the order of the file. The domain `delta.rowTracking` holds the table's
highest id. The ids of a commit depend on its version and on the ids that earlier commits assigned, so each attempt computes them
again from the staged files. Sources: PROTOCOL.md, "Row Tracking"; delta-spark's `RowId`, `RowTracking` and `ConflictChecker`.
"""

from __future__ import annotations

import itertools
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.action_files import ActionFile
from bayou.plan.statistics.members import one_array
from bayou.protocol import properties
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Metadata, Protocol
from bayou.protocol.actions.file_names import commit_path
from bayou.protocol.features.features import writer_features

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.staging.staged import StagedActions

FEATURE: Final = "rowTracking"
"""The table feature."""
DOMAIN: Final = "delta.rowTracking"
"""The domain that holds the highest row id."""
NO_ROW_ID: Final = -1
"""The highest row id of a table that has assigned none."""
PRESERVED_TAG: Final = "delta.rowTracking.preserved"
"""The tag in `commitInfo.tags` that states whether a commit kept the ids of rewritten rows: `true` or `false`."""

_MARK: Final = "rowIdHighWaterMark"
# The beginning of the statistics of most writers, which put the count first.
_COUNT_FIRST: Final = re.compile(r'\{"numRecords":([0-9]{1,19})[,}]')
_COUNT_FIRST_ARROW: Final = r'^\{"numRecords":(?P<count>[0-9]{1,18})[,}]'
_MATERIALISED: Final = (
    (properties.MATERIALIZED_ROW_ID.key, "_row-id-col-"),
    (properties.MATERIALIZED_ROW_COMMIT_VERSION.key, "_row-commit-version-col-"),
)


def tracks_rows(protocol: Protocol | None, metadata: Metadata | None) -> bool:
    """Return whether a table's new files must have row ids: it has the feature, and tracking is not suspended.

    `delta.enableRowTracking` is different: it requires that ids survive rewriting, too.
    """
    if protocol is None or FEATURE not in writer_features(protocol):
        return False
    return metadata is None or not properties.ROW_TRACKING_SUSPENDED.read(metadata.configuration)


def high_water_mark(domains: Mapping[str, DomainMetadata], before: int = NO_ROW_ID) -> int:
    """Return the highest row id that was assigned.

    Args:
        domains: the metadata of a snapshot's domains, or those that a commit sets (`Header.domains`).
        before: the value if they do not contain it.

    Raises:
        CorruptLogError: the domain does not hold a number.
    """
    domain = domains.get(DOMAIN)
    if domain is None:
        return before
    if domain.removed:
        return NO_ROW_ID
    try:
        mark = json.loads(domain.configuration)[_MARK]
    except (ValueError, KeyError, TypeError, RecursionError):
        mark = None
    if type(mark) is not int:
        raise failed("DELTA_STATE_RECOVER_ERROR/row-id-mark", domain=DOMAIN, mark=_MARK, configuration=domain.configuration)
    return mark


def with_row_ids(staged: StagedActions, mark: int, version: int, table: str) -> StagedActions:
    """Return a commit's actions with row ids on its new files, and with the domain that holds the highest id.

    Files that have ids keep them: they were moved, or are committed again with another deletion vector. The domain is left out if
    no id was assigned.

    Args:
        staged: the actions as they were staged, the same for every attempt.
        mark: the highest id that earlier commits assigned.

    Raises:
        InvalidCommitError: a new file has no row count, a file has ids that were never assigned, or the domain was staged.
    """
    if any(each.domain == DOMAIN for each in staged.domains):
        raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/row-id-mark", table=table, domain=DOMAIN)
    adds, highest = assigned_files(staged.adds, mark, version, table)
    added_files = staged.added_files
    if added_files is not None:
        # Existing ids are checked against the mark before this commit: they cannot be ids that are assigned here.
        files, highest = assigned_columns(added_files.files, mark, version, table, first=highest + 1)
        added_files = added_files.with_files(files)
    domains = staged.domains if highest == mark else (*staged.domains, domain_of(highest))
    return replace(staged, adds=adds, added_files=added_files, domains=domains)


def assigned_files(adds: Iterable[AddFile], mark: int, version: int, table: str) -> tuple[list[AddFile], int]:
    """Return files with row ids and versions, and the highest id afterwards; see `with_row_ids`."""
    found: list[AddFile] = []
    highest = mark
    for add in adds:
        base = add.base_row_id
        if base is None:
            base = highest + 1
            highest += _num_records(add.path, add.stats, version, table)
        elif base > mark:
            _check_given(add.path, add.stats, base, mark, version, table)
        row_version = version if add.default_row_commit_version is None else add.default_row_commit_version
        found.append(replace(add, base_row_id=base, default_row_commit_version=row_version))
    return found, highest


def assigned_columns(adds: pa.Table, mark: int, version: int, table: str, *, first: int | None = None) -> tuple[pa.Table, int]:
    """Return the same for files as columns (ADD_SCHEMA), without an object for each. `first` is the first free id."""
    given = mark if first is None else first - 1
    if not adds.num_rows:
        return adds, given
    bases = one_array(adds["base_row_id"])
    for odd in adds.filter(pc.greater(bases, mark)).select(["path", "stats", "base_row_id"]).to_pylist():
        _check_given(odd["path"], odd["stats"], odd["base_row_id"], mark, version, table)
    fresh = pc.is_null(bases)
    counts = pc.if_else(fresh, _counts(adds, fresh, version, table), pa.scalar(0, pa.int64()))
    ends = pc.add(pc.cumulative_sum(counts), given)
    starts = pc.add(pc.subtract(ends, counts), 1)
    versions = pc.fill_null(one_array(adds["default_row_commit_version"]), version)
    found = _with_column(adds, "base_row_id", pc.if_else(fresh, starts, bases))
    return _with_column(found, "default_row_commit_version", versions), ends[len(ends) - 1].as_py()


def domain_of(mark: int) -> DomainMetadata:
    """Return the domain's metadata for a highest row id, as delta-spark writes it."""
    return DomainMetadata(DOMAIN, json.dumps({_MARK: mark, "domainName": DOMAIN}, separators=(",", ":")))


def with_materialised_columns(
    configuration: Mapping[str, str], columns: Iterable[str] = (), *, keep: bool = True, tracks: bool = False
) -> dict[str, str]:
    """Return a configuration with names for the hidden columns of row ids and versions, if the table preserves them.

    Args:
        columns: the names of the table's columns, logical and physical, which the new ones must not have.
        keep: whether existing names stay unless a column has them; not so in a clone, whose files are others.
        tracks: whether to set names even if the table only has the feature, as for a new table.
    """
    found = dict(configuration)
    if not (tracks or properties.ENABLE_ROW_TRACKING.read(configuration)):
        return found
    taken = {name.lower() for name in columns}
    for key, prefix in _MATERIALISED:
        if not keep or not found.get(key) or found[key].lower() in taken:
            found[key] = _free_name(prefix, taken)
    return found


def _free_name(prefix: str, taken: set[str]) -> str:
    while (name := f"{prefix}{uuid.uuid4()}") in taken:
        pass
    return name


def _counted(stats: str | None) -> int | None:
    text = stats or ""
    first = _COUNT_FIRST.match(text)
    if first is not None:
        return int(first[1])
    try:
        count: Any = json.loads(text)["numRecords"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return count if type(count) is int and count >= 0 else None


def _num_records(path: str, stats: str | None, version: int, table: str) -> int:
    count = _counted(stats)
    if count is None:
        raise failed("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS", table=table, version=version, file=path)
    return count


def _counts(adds: pa.Table, fresh: pa.Array, version: int, table: str) -> pa.Array:
    """Return the rows of each new file; some number or null for others."""
    counts = pc.struct_field(pc.extract_regex(one_array(adds["stats"]), _COUNT_FIRST_ARROW), "count").cast(pa.int64())
    odd = pc.and_(fresh, pc.is_null(counts))
    if not pc.any(odd).as_py():
        return counts
    texts: Sequence[str | None] = adds["stats"].filter(odd).to_pylist()
    paths: Sequence[str] = adds["path"].filter(odd).to_pylist()
    parsed = [_num_records(path, text, version, table) for path, text in zip(paths, texts, strict=True)]
    return pc.replace_with_mask(counts, odd, pa.array(parsed, pa.int64()))


def _check_given(path: str, stats: str | None, base: int, mark: int, version: int, table: str) -> None:
    """Check that a file's ids are not above the highest one; a file without rows may begin right after it."""
    if base == mark + 1 and _counted(stats) == 0:
        return
    raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/row-ids", table=table, version=version, file=path, first=base, highest=mark)


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), values)


_AT_ONCE: Final = 64
_READERS: Final = 16
_NAMES: Final = (properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)


def first_without_ids(log: LogReader, versions: Iterable[int]) -> int | None:
    """Return the first of some ordered versions after which rows may have other ids than before, or None.

    Ids survive rewriting while `delta.enableRowTracking` is true, but a commit's tags may state that it did not keep them. Reads
    the head of each commit. Source: PROTOCOL.md, "Row Tracking".

    Raises:
        CorruptLogError: a commit is gone, or cannot be read.
    """
    names: tuple[str | None, ...] | None = None
    remaining = iter(versions)
    with ThreadPoolExecutor(_READERS) as pool:
        while some := list(itertools.islice(remaining, _AT_ONCE)):
            for file in pool.map(lambda version: _read(log, version), some):
                info, metadata = file.commit_info(), file.header().metadata
                tags = {} if info is None else info.raw.get("tags")
                if isinstance(tags, dict) and tags.get(PRESERVED_TAG) == "false":
                    return file.version
                if metadata is None:
                    continue
                now = tuple(each.read(metadata.configuration) for each in _NAMES)
                if not properties.ENABLE_ROW_TRACKING.read(metadata.configuration) or now != (names or now):
                    return file.version
                names = now
    return None


def _read(log: LogReader, version: int) -> ActionFile:
    try:
        return ActionFile.of_commit(log.store, version, log.table_uri)
    except FileNotFoundError as error:
        raise failed(
            "DELTA_STATE_RECOVER_ERROR/range-commit", table=log.table_uri, version=version, file=commit_path(version)
        ) from error
