# SPDX-License-Identifier: Apache-2.0
"""Carry out ALTER TABLE and COMMENT ON TABLE statements, which Spark parses and passes to the catalog as `TableChange` objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.evolution.property_rules import shown_key
from bayou.protocol.evolution.schema_changes import NO_COMMENT, AddedColumn
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.alter import clustering as alter_clustering
from bayou.spark.alter import columns as alter_columns
from bayou.spark.alter import properties as alter_properties
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.spark.read.session_table import SessionTable

_BETWEEN_CHANGES, _BETWEEN_FACTS, _BETWEEN_PARTS, _BETWEEN_COLUMNS = "\3", "\1", "\2", "\4"


@dataclass(frozen=True, slots=True)
class Change:
    """A `TableChange` of Spark.

    Attributes:
        kind: the name of its class, such as `AddColumn`.
        facts: the values of its methods, by the names of the methods. Absent values are left out.
    """

    kind: str
    facts: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Change:
        """Decode one change from a message of `bayou.Changes`."""
        kind, *facts = text.split(_BETWEEN_FACTS)
        return cls(kind, dict(each.split("=", 1) for each in facts))

    @classmethod
    def at(cls, kind: str, path: Sequence[str], facts: Mapping[str, str], position: str | None = None) -> Change:
        """Return a change of the column at a path.

        Args:
            position: the column that it follows; an empty string for the first place; None without a position.
        """
        place = {} if position is None else {"position": _BETWEEN_PARTS.join(("AFTER", position)) if position else "FIRST"}
        return cls(kind, {"fieldNames": _BETWEEN_PARTS.join(path), **facts, **place})

    @property
    def path(self) -> tuple[str, ...]:
        """The path of the column."""
        return tuple(self.facts["fieldNames"].split(_BETWEEN_PARTS))

    @property
    def place(self) -> dict[str, Any]:
        """The position of the column as the keyword arguments `after` and `first`."""
        position = self.facts.get("position")
        if position is None:
            return {"after": None, "first": False}
        word, *column = position.split(_BETWEEN_PARTS)
        return {"after": column[0], "first": False} if word == "AFTER" else {"after": None, "first": True}

    def field(self) -> dict[str, Any]:
        """Return the added column in the form of the protocol's JSON schemas."""
        metadata = {"comment": self.facts["comment"]} if "comment" in self.facts else {}
        if "defaultValue" in self.facts:
            metadata[CURRENT_DEFAULT] = self.facts["defaultValue"]
        nullable = self.facts.get("isNullable", "true") == "true"
        return {"name": self.path[-1], "type": json.loads(self.facts["dataType"]), "nullable": nullable, "metadata": metadata}


def changes_in(text: str) -> list[Change]:
    """Decode the changes of a statement, which `bayou.Changes` encodes."""
    return [Change.of(each) for each in text.split(_BETWEEN_CHANGES)] if text else []


def new_location(changes: Sequence[Change]) -> str | None:
    """Return the location that SET LOCATION sets, or None for any other statement."""
    locations = [each.facts["value"] for each in changes if each.kind == "SetProperty" and each.facts["property"] == "location"]
    return locations[0] if len(locations) == len(changes) == 1 else None


def run(target: SessionTable, changes: Sequence[Change]) -> None:
    """Carry out the changes of a statement.

    Raises:
        UnsupportedFeatureError: bayou does not support the combination of changes.
    """
    kinds = frozenset("UpdateColumn" if each.kind.startswith("UpdateColumn") else each.kind for each in changes)
    if not kinds:
        return
    if kinds not in _METHODS:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/alter-table", table=target.uri, features=sorted(kinds))
    _METHODS[kinds](target, changes)


def _set(target: SessionTable, changes: Sequence[Change]) -> None:
    alter_properties.set_properties(target, {shown_key(each.facts["property"]): each.facts["value"] for each in changes})


def _unset(target: SessionTable, changes: Sequence[Change]) -> None:
    """Unset keys. Ignore keys that are not set, because Spark does not pass IF EXISTS to the catalog."""
    keys = [each.facts["property"] for each in changes]
    if keys == ["comment"]:
        alter_properties.set_comment(target, None)
    else:
        alter_properties.unset_properties(target, keys, if_exists=True)


def _add(target: SessionTable, changes: Sequence[Change]) -> None:
    columns = alter_columns.given_columns(target, _columns(changes)).fields
    pairs = zip(columns, changes, strict=True)
    added = [AddedColumn(field, each.path[:-1], alter_columns.position_of(**each.place)) for field, each in pairs]
    alter_columns.add_each(target, added)


def _columns(changes: Sequence[Change]) -> StructType:
    return parse_schema(json.dumps({"type": "struct", "fields": [each.field() for each in changes]}))


def _exists(target: SessionTable, change: Change) -> bool:
    if change.facts.get("ifExists") != "true":
        return True
    level: Any = target.snapshot().schema
    for name in change.path:
        field = level.field(name) if isinstance(level, StructType) else None
        if field is None:
            return False
        level = field.type
    return True


def _rename(target: SessionTable, changes: Sequence[Change]) -> None:
    for each in changes:
        alter_columns.rename_column(target, each.path, each.facts["newName"])


def _drop(target: SessionTable, changes: Sequence[Change]) -> None:
    alter_columns.drop_columns(target, [each.path for each in changes if _exists(target, each)])


def _cluster(target: SessionTable, changes: Sequence[Change]) -> None:
    columns = changes[0].facts["clusteringColumns"].split(_BETWEEN_COLUMNS)
    alter_clustering.alter_cluster_by(target, [each.split(_BETWEEN_PARTS) for each in columns if each])


def _replace(target: SessionTable, changes: Sequence[Change]) -> None:
    """Carry out REPLACE COLUMNS, which Spark passes as a drop of all columns and additions of the new ones."""
    alter_columns.replace_columns(target, _columns([each for each in changes if each.kind == "AddColumn"]))


def _change(target: SessionTable, changes: Sequence[Change]) -> None:
    """Carry out ALTER COLUMN: the changes of all columns in one commit."""
    column_changes = []
    for path in dict.fromkeys(each.path for each in changes):
        arguments: dict[str, Any] = {}
        for each in changes:
            if each.path != path:
                continue
            match each.kind:
                case "UpdateColumnType":
                    column = {"name": "", "type": json.loads(each.facts["newDataType"])}
                    arguments["data_type"] = sql_type(
                        parse_schema(json.dumps({"type": "struct", "fields": [column]})).fields[0].type
                    )
                case "UpdateColumnComment":
                    arguments["comment"] = each.facts.get("newComment", NO_COMMENT)  # COMMENT ON COLUMN ... IS NULL
                case "UpdateColumnNullability":
                    arguments["nullable"] = each.facts["nullable"] == "true"
                case "UpdateColumnPosition":
                    arguments |= each.place
                case _:
                    arguments["default"] = each.facts.get("newDefaultValue") or ""
        column_changes.append(alter_columns.column_change(target, path, **arguments))
    alter_columns.change_columns(target, column_changes)


_METHODS: Final[Mapping[frozenset[str], Callable[[SessionTable, Sequence[Change]], None]]] = {
    frozenset({"SetProperty"}): _set,
    frozenset({"RemoveProperty"}): _unset,
    frozenset({"AddColumn"}): _add,
    frozenset({"RenameColumn"}): _rename,
    frozenset({"DeleteColumn"}): _drop,
    frozenset({"DeleteColumn", "AddColumn"}): _replace,
    frozenset({"UpdateColumn"}): _change,
    frozenset({"ClusterBy"}): _cluster,
}
"""The function for each set of kinds that one statement may have."""
