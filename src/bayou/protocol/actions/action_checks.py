# SPDX-License-Identifier: Apache-2.0
"""Check that the fields of an action have the types of PROTOCOL.md, since no reader could read others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from types import NoneType
from typing import Any, Final, TypeVar

from bayou.errors import failed
from bayou.protocol.actions.actions import AddCDCFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.arguments import INT64_LIMIT, shown_text
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor

Check = Callable[[Any], bool]
_MAPPINGS: Final = (dict, Mapping)  # checking for dict first is faster
_NULLABLE_TEXT: Final = frozenset({str, NoneType})
T = TypeVar("T")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_long(value: Any) -> bool:
    return type(value) is int and -INT64_LIMIT <= value < INT64_LIMIT


def _is_number(value: Any) -> bool:
    """Whether the value is a number. `log.commit.checks` checks its range."""
    return isinstance(value, (int, float))


def _is_flag(value: Any) -> bool:
    return value is True or value is False


def _is_texts(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(each, str) for each in value)


def _is_text_map(value: Any) -> bool:
    return _is_nullable_text_map(value) and None not in value.values()


def _is_nullable_text_map(value: Any) -> bool:
    if not isinstance(value, _MAPPINGS) or None in value:
        return False
    kinds = {*map(type, value), *map(type, value.values())}
    return kinds <= _NULLABLE_TEXT or all(issubclass(kind, (str, NoneType)) for kind in kinds)


def _is_vector(value: Any) -> bool:
    return isinstance(value, DeletionVectorDescriptor) and _wrong_field(value) is None


_WANTED: Final[Mapping[Check, str]] = {
    _is_text: "a string",
    _is_long: "an integer of 64 bits",
    _is_number: "an integer",
    _is_flag: "True or False",
    _is_texts: "a tuple of strings",
    _is_text_map: "a dictionary of strings",
    _is_nullable_text_map: "a dictionary whose keys are strings and whose values are strings or None",
    _is_vector: "a DeletionVectorDescriptor with a string, a string and integers",
}

_FILE: Final[Mapping[str, Check]] = {
    "path": _is_text,
    "partition_values": _is_nullable_text_map,
    "size": _is_number,
    "stats": _is_text,
    "tags": _is_nullable_text_map,
    "deletion_vector": _is_vector,
    "base_row_id": _is_number,
    "default_row_commit_version": _is_number,
    "data_change": _is_flag,
}

_CHECKS: Final[Mapping[type, Mapping[str, Check]]] = {
    Protocol: {
        "min_reader_version": _is_long,
        "min_writer_version": _is_long,
        "reader_features": _is_texts,
        "writer_features": _is_texts,
    },
    Metadata: {
        "id": _is_text,
        "schema_string": _is_text,
        "partition_columns": _is_texts,
        "configuration": _is_text_map,
        "name": _is_text,
        "description": _is_text,
        "format_provider": _is_text,
        "format_options": _is_text_map,
        "created_time": _is_long,
    },
    AddFile: {**_FILE, "modification_time": _is_number, "clustering_provider": _is_text},
    RemoveFile: {**_FILE, "deletion_timestamp": _is_number, "extended_file_metadata": _is_flag},
    AddCDCFile: {name: _FILE[name] for name in ("path", "partition_values", "size", "tags")},
    SetTransaction: {"app_id": _is_text, "version": _is_number, "last_updated": _is_number},
    DomainMetadata: {"domain": _is_text, "configuration": _is_text, "removed": _is_flag},
    DeletionVectorDescriptor: {
        "storage_type": _is_text,
        "path_or_inline_dv": _is_text,
        "offset": _is_number,
        "size_in_bytes": _is_number,
        "cardinality": _is_number,
    },
}
"""The check of each field. An optional field may also be None."""


def _plan(kind: Any, checks: Mapping[str, Check]) -> tuple[Callable[[Any], tuple[Any, ...]], list[tuple[str, Check, bool]]]:
    """Return a getter of all values of an action, and the name and check of each value, and whether it may be None."""
    optional = {each.name for each in fields(kind) if str(each.type).endswith("| None")}
    return attrgetter(*checks), [(name, check, name in optional) for name, check in checks.items()]


# Computed once, since a commit may contain a million actions.
_PLANS: Final = {kind: _plan(kind, checks) for kind, checks in _CHECKS.items()}


def check_action(action: T, table: str) -> T:
    """Return the action. Raise InvalidCommitError if it is not an action, or a field has the wrong type."""
    kind = type(action).__name__
    if type(action) not in _CHECKS or isinstance(action, DeletionVectorDescriptor):
        raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/not-an-action", table=table, given=shown_text(action), kind=kind)
    name = _wrong_field(action)
    if name is not None:
        wanted = _WANTED[_CHECKS[type(action)][name]]
        given = shown_text(getattr(action, name))
        raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/field", table=table, field=name, kind=kind, given=given, wanted=wanted)
    return action


def _wrong_field(value: Any) -> str | None:
    """Return the name of the first field with a wrong type, or None."""
    values, checks = _PLANS[type(value)]
    for found, (name, check, is_optional) in zip(values(value), checks, strict=True):
        if not (is_optional if found is None else check(found)):
            return name
    return None
