# SPDX-License-Identifier: Apache-2.0
"""Permission to continue a stream after a schema change: renamed, dropped and widened columns must be allowed by the user.

Source: delta-spark's `SchemaEvolutionUtils`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.log.streaming.request.settings import StreamSettings
from bayou.log.streaming.schema.differences import changed_types, dropped_columns, renamed_columns
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.schema.read_compatibility import is_read_compatible
from bayou.protocol.types.traverse import to_physical

if TYPE_CHECKING:
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.schema.tracking_log import TrackedMetadata

ALLOW_RENAME_CONF: Final = "spark.databricks.delta.streaming.allowSourceColumnRename"
ALLOW_DROP_CONF: Final = "spark.databricks.delta.streaming.allowSourceColumnDrop"
ALLOW_RENAME_AND_DROP_CONF: Final = "spark.databricks.delta.streaming.allowSourceColumnRenameAndDrop"
ALLOW_TYPE_CHANGE_CONF: Final = "spark.databricks.delta.streaming.allowSourceColumnTypeChange"
_ALWAYS: Final = "always"
_INT_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class _Change:
    """One kind of change that needs permission: by a reader's option with its given value, or by one of some settings."""

    name: str
    columns: str
    option: str
    given: str | None
    confs: tuple[str, ...]

    def is_allowed(self, settings: Mapping[str, str], checkpoint: int, version: int) -> bool:
        if self.given in (_ALWAYS, str(version)):
            return True
        for conf in self.confs:
            here = settings.get(f"{conf}.ckpt_{checkpoint}", "").lower()
            if settings.get(conf, "").lower() == _ALWAYS or here in (_ALWAYS, str(version)):
                return True
        return False


def check_leave(
    previous: TrackedMetadata,
    current: TrackedMetadata,
    options: StreamOptions,
    confs: Mapping[str, str],
    *,
    source_path: str,
    table: str,
) -> None:
    """Raise SchemaChangedError if a change drops, renames or widens columns and the user did not allow it.

    A type must not change otherwise. The hash of `source_path`, the source's folder in the checkpoint, is part of setting names.
    """
    settings = StreamSettings.of(confs)
    _check_types(previous, current, settings, table)
    checkpoint = java_hash(source_path)
    changes = list(_changes(previous, current, options, settings))
    version = current.version
    if all(each.is_allowed(confs, checkpoint, version) for each in changes):
        return
    name = _name([each.name for each in changes])
    this_version = ", ".join(f"{each.option}={version}" for each in changes)
    always = ", ".join(f"{each.option}={_ALWAYS}" for each in changes)
    conf = " and ".join(f"{each.confs[0]}.ckpt_{checkpoint}={version}" for each in changes)
    raise failed(
        "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
        table=table,
        version=version,
        previous=previous.version,
        columns="; ".join(each.columns for each in changes),
        this_version=this_version,
        always=always,
        setting=conf,
        operation=name,
        user=None,
        retryable=False,
        checkpoint_hash=checkpoint,
        options=tuple(each.option for each in changes),
    )


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode` of a string, which is part of setting names."""
    value = 0
    data = text.encode("utf-16-be")
    for high, low in zip(data[::2], data[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & ((1 << _INT_BITS) - 1)
    return value - (1 << _INT_BITS) if value >> (_INT_BITS - 1) else value


def _changes(
    previous: TrackedMetadata, current: TrackedMetadata, options: StreamOptions, settings: StreamSettings
) -> Iterator[_Change]:
    before, after = previous.schema, current.schema
    both = (ALLOW_RENAME_AND_DROP_CONF,)
    renamed = [f"'{old}' -> '{new}'" for old, new in renamed_columns(before, after)]
    if renamed:
        columns = f"Columns renamed: {', '.join(renamed)}"
        yield _Change("RENAME COLUMN", columns, "allowSourceColumnRename", options.allow_rename, (ALLOW_RENAME_CONF, *both))
    dropped = [f"'{old}'" for old in dropped_columns(before, after)]
    if dropped:
        columns = f"Columns dropped: {', '.join(dropped)}"
        yield _Change("DROP COLUMN", columns, "allowSourceColumnDrop", options.allow_drop, (ALLOW_DROP_CONF, *both))
    if settings.allows_widening and settings.checks_types:
        types = [f"'{path}': {old} -> {new}" for path, old, new in changed_types(to_physical(before), to_physical(after))]
        if types:
            columns = f"Columns with widened types: {', '.join(types)}"
            option = "allowSourceColumnTypeChange"
            yield _Change("TYPE WIDENING", columns, option, options.allow_type_change, (ALLOW_TYPE_CHANGE_CONF,))


def _name(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    short = [name.removesuffix(" COLUMN") for name in names]
    joined = f"{', '.join(short[:-1])} AND {short[-1]}"
    return joined if names[-1] == "TYPE WIDENING" else f"{joined} COLUMN"


def _check_types(previous: TrackedMetadata, current: TrackedMetadata, settings: StreamSettings, table: str) -> None:
    if not settings.checks_types:
        return
    widening = Widening.ALWAYS if settings.allows_widening else Widening.NEVER
    before, after = to_physical(previous.schema), to_physical(current.schema)
    if not is_read_compatible(before, after, widening=widening, allow_missing=True):
        raise failed(
            "DELTA_SCHEMA_CHANGED_WITH_VERSION/type",
            table=table,
            version=current.version,
            schema=previous.schema_json,
            new_schema=current.schema_json,
            operation=None,
            user=None,
            retryable=False,
        )
