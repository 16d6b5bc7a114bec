# SPDX-License-Identifier: Apache-2.0
"""CLONE on a session: to a path, or to a name in the session's catalog. Runs no Spark job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bayou.errors import failed, redact_uri
from bayou.log.operations.clone import CloneRequest, CloneResult, clone
from bayou.protocol.actions.paths import is_absolute
from bayou.spark.create.definition import TableDefinition
from bayou.spark.create.place import creation_at, place_of
from bayou.spark.session.operations import log_operation
from bayou.spark.session.progress import committed
from bayou.spark.session.session_transaction import session_transaction
from bayou.spark.session.settings import allows_downgrade
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.catalog import Catalog
    from bayou.spark.create.place import Place
    from bayou.spark.read.session_table import SessionTable


def clone_table(
    table: SessionTable,
    source: Snapshot,
    target: str,
    *,
    shallow: bool,
    replace: bool,
    properties: Mapping[str, str],
    source_name: str | None = None,
    location: str | None = None,
    dry_run: bool = False,
) -> tuple[Place, CloneResult]:
    """Clone a version of a table into a separate one, and register the clone if it has a name.

    Args:
        target: an absolute path, or a name in the catalog.
        shallow: whether the clone refers to the source's files instead of copying them.
        replace: whether an existing table is replaced.
        properties: properties that the clone gets in addition to the source's.
        location: the folder of a clone with a name; the catalog decides if None.

    Raises:
        InvalidOptionError: the path is not absolute, or a property cannot be set.
        TableExistsError: the table exists, and `replace` is not set.
        DeltaError: as `DeltaLog.clone`.
    """
    application, spark = table.application, table.spark
    catalog = application.backend.catalog(spark)
    place = _place(catalog, target, location)
    settings = application.backend.settings(spark)
    request = CloneRequest(
        shallow,
        replace,
        properties,
        source_name,
        allow_protocol_downgrade=allows_downgrade(settings),
        settings=settings,
        dry_run=dry_run,
    )
    if place.is_registered and not replace:
        raise failed("TABLE_OR_VIEW_ALREADY_EXISTS/clone-by-name", table=place.uri, relation=target)
    log = application.logs.get(place.uri, {})
    if dry_run:
        return place, clone(source, table.log, log, request, storage_options=table.options)
    begin = partial(session_transaction, application, spark, log, settings=settings)
    step = "comparing files" if shallow else "copying files"
    with log_operation("CLONE", step, spark, settings, redact_uri(target)), creation_at(place.uri):
        result = clone(source, table.log, log, request, begin, table.options)
        if result.version is not None:
            committed(result.version, result.metrics)
        if place.name is not None:
            if not place.is_registered:
                catalog.create(place.name, place.uri, managed=place.managed, if_absent=False)
            catalog.refresh(place.name)
    if result.version:  # a new table has no caches
        application.backend.refresh_caches(spark, log, {})
    return place, result


def _place(catalog: Catalog, target: str, location: str | None) -> Place:
    path = target if is_absolute(target) else catalog.name(target).path
    if path is None:
        if location is not None and not is_absolute(location):
            raise failed("DELTA_INVALID_CLONE_PATH", table=location, option="target")
        return place_of(catalog, TableDefinition(name=target, location=location))
    if location is not None and (not is_absolute(location) or qualify(location).uri != qualify(path).uri):
        raise failed("DELTA_CLONE_AMBIGUOUS_TARGET", table=target, location=location, option="location")
    if not is_absolute(path):
        raise failed("DELTA_INVALID_CLONE_PATH", table=path, option="target")
    return place_of(catalog, TableDefinition(location=path))
