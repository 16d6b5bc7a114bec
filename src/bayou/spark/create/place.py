# SPDX-License-Identifier: Apache-2.0
"""Resolve the location of a table to create: its folder, its name in the catalog, and who may create it now."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from bayou.errors import failed
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.spark.catalog import Catalog, TableName
    from bayou.spark.create.definition import TableDefinition

_TWO_PLACES: Final = {
    False: "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
    True: "DELTA_AMBIGUOUS_PATHS_IN_CREATE_TABLE",
}
"""The error class for a path as the name with a different location: in a builder, and in SQL."""


@dataclass(eq=False)
class _Creation:
    """A lock for the threads that create a table in one folder."""

    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a table to create.

    Attributes:
        uri: its folder.
        name: its name in the catalog; None if it gets none.
        is_registered: whether the catalog already has the name.
        managed: whether the catalog chose the folder.
    """

    uri: str
    name: TableName | None
    is_registered: bool
    managed: bool


def place_of(catalog: Catalog, definition: TableDefinition) -> Place:
    """Return a table's location: where its name is registered, its own location, or where the catalog puts it.

    Raises:
        InvalidOptionError: neither a name nor a location is set, or the two contradict each other.
        UnsupportedFeatureError: the catalog takes no entries of Delta tables.
        TableExistsError: the name belongs to a view, or to a table of another source.
    """
    if definition.name is None:
        if definition.location is None:
            raise failed("DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION", option="tableName")
        return Place(qualify(definition.location).uri, None, is_registered=False, managed=False)
    name = catalog.name(definition.name)
    given = None if definition.location is None else qualify(definition.location).uri
    if name.path is not None:
        uri = qualify(name.path).uri
        if given is not None and given != uri:
            raise failed(
                "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
                error_class=_TWO_PLACES[definition.in_sql],
                table=uri,
                location=given,
                option="location",
            )
        return Place(uri, None, is_registered=False, managed=False)
    entry = catalog.entry(name)
    if entry is None:
        catalog.check_takes(name)
        return Place(given or qualify(catalog.default_location(name)).uri, name, is_registered=False, managed=given is None)
    if entry.is_view or entry.provider != "delta":
        raise failed("DELTA_NOT_A_DELTA_TABLE/exists", table=definition.name, relation=definition.name)
    return Place(qualify(entry.location).uri, name, is_registered=True, managed=entry.managed)


def check_same_place(place: Place, definition: TableDefinition) -> None:
    """Raise InvalidOptionError if a table is to be replaced under its name by one in another folder."""
    given = None if definition.location is None else qualify(definition.location).uri
    if place.is_registered and given is not None and given != place.uri:
        raise failed("DELTA_TABLE_LOCATION_MISMATCH", table=place.uri, relation=definition.name, location=given, option="location")


_creations: WeakValueDictionary[str, _Creation] = WeakValueDictionary()
_lock: Final = threading.Lock()


@contextmanager
def creation_at(uri: str) -> Iterator[None]:
    """Let no other thread of this process create or replace a table in the same folder within the block.

    The rows of a new table exist before its log, and its log before the catalog's entry. Another process may still create the
    table in between.
    """
    with _lock:
        creation = _creations.get(uri)
        if creation is None:
            creation = _creations[uri] = _Creation()
    with creation.lock:
        yield
