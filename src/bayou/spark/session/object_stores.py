# SPDX-License-Identifier: Apache-2.0
"""Tables in object stores on a session: the log uses the settings that Spark uses for the data files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from bayou.errors import StorageError, redact_uri
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.hadoop import (
    FILE_SYSTEMS,
    HadoopError,
    S3aCredentials,
    configured_file_system,
    hadoop_settings,
    set_file_system,
)
from bayou.spark.session.hadoop_store import check_log_store_settings
from bayou.storage import register
from bayou.storage.object_stores.hadoop_settings import (
    PREFIXES,
    asks_s3a,
    merged,
    names_who_asks,
    secret_names,
    without_credentials,
)
from bayou.storage.object_stores.object_store import ObjectStore, open_object_store
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import KINDS, ObjectPlace, place_of
from bayou.storage.open_store import SCHEMES_OF_A_SESSION
from bayou.storage.registry import registered_name

if TYPE_CHECKING:
    from bayou.storage import QualifiedPath


def open_session_object_store(place: QualifiedPath, given: Mapping[str, str]) -> ObjectStore:
    """Return the store of a table. Storage options take precedence over `fs.*` options, and those over the session's settings.

    Args:
        given: storage options, and settings of Hadoop's file systems.

    Raises:
        StorageError: a setting of the session requires a log store that bayou does not honor, or credentials cannot be read.
        InvalidOptionError: an option is unknown, or a setting has no counterpart.
    """
    jvm = Jvm.running()
    if jvm is None:
        return open_object_store(place, given)
    check_log_store_settings(jvm, place.scheme)
    found = place_of(place)
    return ObjectStore(place.uri, found, partial(_read_options, jvm, place, found, given))


def _read_options(jvm: Jvm, place: QualifiedPath, found: ObjectPlace, given: Mapping[str, str]) -> ObjectOptions:
    try:
        settings = hadoop_settings(jvm, PREFIXES[found.kind], secret_names(found))
    except HadoopError as error:
        raise StorageError(
            f"The credentials for the table cannot be read: {error}",
            table=redact_uri(place.uri),
            next_step="Correct hadoop.security.credential.provider.path.",
        ) from error
    of_hadoop = {name: value for name, value in given.items() if name.startswith("fs.")}
    settings |= of_hadoop
    own = {name: value for name, value in given.items() if not name.startswith("fs.")}
    credentials = None
    if not names_who_asks(own) and asks_s3a(settings, found):
        credentials = S3aCredentials(jvm, found.bucket, of_hadoop)
        settings = without_credentials(settings)
    return ObjectOptions.of(merged(settings, own, found, place.uri), found.kind, redact_uri(place.uri), credentials)


def check_file_system(jvm: Jvm, scheme: str) -> None:
    """Ensure that Spark can read and write the data files of tables with a URI scheme. Ignore schemes of no object store.

    If Spark knows S3A but not `s3://`, S3A serves that spelling too. Raise StorageError if the session has no file system for it.
    """
    kind = KINDS.get(scheme)
    if kind is None:
        return
    configured = configured_file_system(jvm, scheme)
    package, spelling = _SPARKS[kind]
    if configured is None and scheme not in _SPARKS_SCHEMES[kind]:
        raise StorageError(
            f"Spark has no file system for {scheme}: URIs.", table=f"{scheme}:", next_step=f"Write the table's path as {spelling}."
        )
    known = configured or FILE_SYSTEMS[kind]
    if not jvm.has_class(known):
        raise StorageError(
            f"Spark cannot read the data files: its file system for {scheme}: URIs, {known}, is not there.",
            table=f"{scheme}:",
            next_step=f"Start the session with spark.jars.packages={package}, in the version of its Hadoop.",
        )
    if configured is None:
        set_file_system(jvm, scheme, known)


_SPARKS: Final[Mapping[str, tuple[str, str]]] = {
    "s3": ("org.apache.hadoop:hadoop-aws", "s3a://BUCKET/PATH"),
    "gcs": ("com.google.cloud.bigdataoss:gcs-connector", "gs://BUCKET/PATH"),
    "azure": ("org.apache.hadoop:hadoop-azure", "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"),
}
"""By kind of store: the package with Hadoop's file system, and the URI that Spark accepts."""
_SPARKS_SCHEMES: Final[Mapping[str, frozenset[str]]] = {
    "s3": frozenset({"s3", "s3a", "s3n", "r2"}),
    "gcs": frozenset({"gs", "gcs"}),
    "azure": frozenset({"abfs", "abfss"}),
}


def register_object_stores() -> None:
    """Apply a session's settings to object stores, except for schemes for which the program registered another store."""
    for scheme in KINDS.keys() - SCHEMES_OF_A_SESSION:
        if registered_name(scheme) in {None, _NAME}:
            register(scheme, _NAME, replace=True)


_NAME: Final = f"{__name__}:{open_session_object_store.__name__}"
