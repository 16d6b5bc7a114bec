# SPDX-License-Identifier: Apache-2.0
"""Where a table that is to be made is to be: its folder, its name in the catalog, and what must not be in the folder."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from bayou.errors import InvalidOptionError, TableExistsError
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.spark.create.definition import TableDefinition
    from bayou.spark.jvm.relations.catalog import Catalog, TableName

_TWO_PLACES: Final = {
    False: "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
    True: "DELTA_AMBIGUOUS_PATHS_IN_CREATE_TABLE",
}
"""The error class for a path as the name and another one as the location: given to a builder, or in SQL."""


@dataclass(eq=False)
class _Creation:
    """The threads that create a table in one folder: one of them at a time."""

    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is to be.

    Attributes:
        uri: its folder.
        name: its name in the catalog; None where it gets none.
        is_registered: whether the catalog has the name already.
        managed: whether the catalog chose the folder.
    """

    uri: str
    name: TableName | None
    is_registered: bool
    managed: bool


def place_of(catalog: Catalog, definition: TableDefinition) -> Place:
    """Where a table is to be: where its name is registered, where it asks to be, or where the catalog puts it.

    Raises:
        InvalidOptionError: neither a name nor a location is given, or the two contradict each other.
        TableExistsError: the name is that of a view, or of a table of another source.
    """
    if definition.name is None:
        if definition.location is None:
            raise InvalidOptionError(
                "Table name or location has to be specified.",
                error_class="DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION",
                option="tableName",
            )
        return Place(qualify(definition.location).uri, None, is_registered=False, managed=False)
    name = catalog.name(definition.name)
    given = None if definition.location is None else qualify(definition.location).uri
    if name.path is not None:
        uri = qualify(name.path).uri
        if given is not None and given != uri:
            raise InvalidOptionError(
                f"Creating path-based Delta table with a different location isn't supported. Identifier: {uri}, Location: {given}.",
                table=uri,
                error_class=_TWO_PLACES[definition.in_sql],
                option="location",
                next_step="leave the location out.",
            )
        return Place(uri, None, is_registered=False, managed=False)
    entry = catalog.entry(name)
    if entry is None:
        return Place(given or qualify(catalog.default_location(name)).uri, name, is_registered=False, managed=given is None)
    if entry.is_view or entry.provider != "delta":
        message = f"{definition.name} is not a Delta table. Please drop this table first if you would like to recreate it."
        raise TableExistsError(message, table=definition.name, error_class="DELTA_NOT_A_DELTA_TABLE")
    return Place(qualify(entry.location).uri, name, is_registered=True, managed=entry.managed)


def refuse_other_place(place: Place, definition: TableDefinition) -> None:
    """Refuses to replace a table that has a name by one in another folder.

    Raises:
        InvalidOptionError: the name stands for another folder than the one that is asked for.
    """
    given = None if definition.location is None else qualify(definition.location).uri
    if place.is_registered and given is not None and given != place.uri:
        raise InvalidOptionError(
            f"The location of the existing table {definition.name} is {place.uri}, and not the specified location {given}.",
            table=place.uri,
            error_class="DELTA_TABLE_LOCATION_MISMATCH",
            option="location",
            next_step="leave the location out, or drop the table first.",
        )


_creations: WeakValueDictionary[str, _Creation] = WeakValueDictionary()
_lock: Final = threading.Lock()


@contextmanager
def creation_at(uri: str) -> Iterator[None]:
    """Within it, no other thread of this process creates or replaces a table in the same folder.

    The rows of a new table are in its folder before its log is, and the log before the catalog's entry. Another process may still
    come in between.
    """
    with _lock:
        creation = _creations.get(uri)
        if creation is None:
            creation = _creations[uri] = _Creation()
    with creation.lock:
        yield
