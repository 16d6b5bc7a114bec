# SPDX-License-Identifier: Apache-2.0
"""The types of what a commit puts into the log as text: a number or an object in the place of a string makes it unreadable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from bayou.errors import InvalidCommitError, InvalidOptionError, reason
from bayou.protocol.actions import AddCDCFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vector import DeletionVectorDescriptor

_Value: TypeAlias = tuple[str, object, type]

_ACTIONS: Final = (AddFile, RemoveFile, AddCDCFile, Metadata, Protocol, DomainMetadata, SetTransaction)
_KIND_NAMES: Final[Mapping[type, str]] = {str: "string", bool: "boolean", Mapping: "mapping", tuple: "tuple of strings"}


def check_texts(actions: Iterable[object], table: str) -> None:
    """Refuse what is not an action, and actions with a value of another type than the protocol asks for.

    Numbers are checked elsewhere.

    Args:
        actions: the actions of a commit.
        table: the table's URI.

    Raises:
        InvalidCommitError: there is such a value.
    """
    for action in actions:
        if not isinstance(action, _ACTIONS):
            raise InvalidCommitError(
                f"{action!r:.60} is not an action",
                table=table,
                next_step=f"Give actions of bayou.protocol.actions: {', '.join(kind.__name__ for kind in _ACTIONS)}.",
            )
        for name, value, kind in _values(action):
            if not isinstance(value, kind):
                raise InvalidCommitError(
                    f"{name} is {value!r:.60}, and should be a {_KIND_NAMES.get(kind, kind.__name__)}",
                    table=table,
                    next_step="The log holds it as that type, and no reader takes another one.",
                )


def check_provenance(
    operation: object, parameters: object, engine_info: object, user_metadata: object, table: str
) -> Mapping[str, Any]:
    """What the history is to say of a commit, as it was given; the parameters are returned as a copy.

    Args:
        operation: the operation's name.
        parameters: its parameters; None where there are none.
        engine_info: who writes.
        user_metadata: the user's own note; None where there is none.
        table: the table's URI.

    Raises:
        InvalidOptionError: a value has a type that the log cannot hold.
    """
    given: dict[str, object] = {"operation": operation, "engine_info": engine_info}
    if user_metadata is not None:
        given["user_metadata"] = user_metadata
    for name, value in given.items():
        if not isinstance(value, str):
            raise _not_possible(name, value, "a string", table)
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise _not_possible("the parameters of the operation", parameters, "a mapping with names that are strings", table)
    for name, value in parameters.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise _not_possible(f"the parameter {name}", value, f"a value of JSON ({reason(error)})", table) from error
    return dict(parameters)


def _values(action: object) -> Iterator[_Value]:
    match action:
        case AddFile() | RemoveFile():
            yield from _of_file(action)
            yield "dataChange", action.data_change, bool
            if action.stats is not None:
                yield "stats", action.stats, str
            if action.deletion_vector is not None:
                yield "deletionVector", action.deletion_vector, DeletionVectorDescriptor
        case AddCDCFile():
            yield from _of_file(action)
        case Metadata():
            yield from _of_metadata(action)
        case Protocol():
            yield from _of_protocol(action)
        case DomainMetadata():
            yield "the name of a domain", action.domain, str
            yield f"the configuration of the domain {action.domain}", action.configuration, str
            yield f"removed of the domain {action.domain}", action.removed, bool
        case SetTransaction():
            yield "the id of an application", action.app_id, str


def _of_file(file: AddFile | RemoveFile | AddCDCFile) -> Iterator[_Value]:
    yield "the path of a file", file.path, str
    yield from _of_map("partitionValues", file.partition_values, may_be_null=True)
    yield from _of_map("tags", file.tags, may_be_null=True)


def _of_protocol(protocol: Protocol) -> Iterator[_Value]:
    for name, features in (("readerFeatures", protocol.reader_features), ("writerFeatures", protocol.writer_features)):
        if features is not None:
            yield from _of_list(name, features)


def _of_metadata(metadata: Metadata) -> Iterator[_Value]:
    yield "id", metadata.id, str
    yield "schemaString", metadata.schema_string, str
    yield "the format's provider", metadata.format_provider, str
    for name, value in (("name", metadata.name), ("description", metadata.description)):
        if value is not None:
            yield name, value, str
    yield from _of_list("partitionColumns", metadata.partition_columns)
    yield from _of_map("the format's options", metadata.format_options)
    yield from _of_map("configuration", metadata.configuration)


def _of_list(name: str, values: object) -> Iterator[_Value]:
    yield name, values, tuple
    if isinstance(values, tuple):
        yield from ((f"an element of {name}", value, str) for value in values)


def _of_map(name: str, values: object, *, may_be_null: bool = False) -> Iterator[_Value]:
    if values is None and may_be_null:
        return
    yield name, values, Mapping
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield f"a key of {name}", key, str
            if value is not None or not may_be_null:
                yield f"{key} in {name}", value, str


def _not_possible(name: str, value: object, wanted: str, table: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"{name} is {value!r:.60}, and should be {wanted}",
        table=table,
        next_step="The history holds nothing else. Convert the value to a string.",
    )
