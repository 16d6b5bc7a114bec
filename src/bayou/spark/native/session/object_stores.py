# SPDX-License-Identifier: Apache-2.0
"""Open the logs of tables in object stores with the same settings and credentials that the session uses for data files.

bayou reads logs by its own client of the object store, and Spark reads data files by Hadoop's file systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from bayou.errors import failed, redact_text, redact_uri
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.hadoop import (
    FILE_SYSTEMS,
    HadoopError,
    S3aCredentials,
    configured_file_system,
    hadoop_settings,
    package_of,
    set_file_system,
)
from bayou.spark.native.session.hadoop_store import check_log_store_settings
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


def open_session_object_store(place: QualifiedPath, options: Mapping[str, str]) -> ObjectStore:
    """Return the log store of a table.

    Storage options take precedence over `fs.*` options, and `fs.*` options over the session's settings.

    Args:
        options: storage options, and settings of Hadoop's file systems (`fs.*`).

    Raises:
        StorageError: a setting of the session requires a log store that bayou does not honor, or credentials cannot be read.
        InvalidOptionError: an option is unknown, or a setting has no counterpart.
    """
    jvm = Jvm.running()
    if jvm is None:
        return open_object_store(place, options)
    check_log_store_settings(jvm, place.scheme)
    object_place = place_of(place)
    return ObjectStore(place.uri, object_place, partial(_read_options, jvm, place, object_place, options))


def _read_options(jvm: Jvm, place: QualifiedPath, object_place: ObjectPlace, options: Mapping[str, str]) -> ObjectOptions:
    try:
        settings = hadoop_settings(jvm, PREFIXES[object_place.kind], secret_names(object_place))
    except HadoopError as error:
        raise failed("credentials-unreadable", table=place.uri, reason=redact_text(str(error))) from error
    hadoop_options = {name: value for name, value in options.items() if name.startswith("fs.")}
    settings |= hadoop_options
    store_options = {name: value for name, value in options.items() if not name.startswith("fs.")}
    credentials = None
    if not names_who_asks(store_options) and asks_s3a(settings, object_place):
        credentials = S3aCredentials(jvm, object_place.bucket, hadoop_options)
        settings = without_credentials(settings)
    return ObjectOptions.of(
        merged(settings, store_options, object_place, place.uri), object_place.kind, redact_uri(place.uri), credentials
    )


def check_file_system(jvm: Jvm, uri: str) -> None:
    """Ensure that Spark can read and write the data files of a table. Ignore tables of other kinds of stores.

    If the session has a file system for `s3a:` URIs but not for `s3:`, configure the same one for `s3:`.

    Raises:
        StorageError: the session has no file system for the scheme of the table's URI.
    """
    scheme = uri.partition(":")[0]
    kind = KINDS.get(scheme)
    if kind is None:
        return
    configured = configured_file_system(jvm, scheme)
    if configured is None and scheme not in _SPARKS_SCHEMES[kind]:
        raise failed("unknown-file-system", table=uri, scheme=scheme, spelling=_SPELLINGS[kind])
    file_system = configured or FILE_SYSTEMS[kind]
    if not jvm.has_class(file_system):
        package = package_of(jvm, kind, file_system)
        raise failed("missing-file-system", table=uri, scheme=scheme, file_system=file_system, package=package)
    if configured is None:
        set_file_system(jvm, scheme, file_system)


_SPELLINGS: Final[Mapping[str, str]] = {
    "s3": "s3a://BUCKET/PATH",
    "gcs": "gs://BUCKET/PATH",
    "azure": "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
}
"""By kind of store: the form of URI that Spark accepts."""
_SPARKS_SCHEMES: Final[Mapping[str, frozenset[str]]] = {
    "s3": frozenset({"s3", "s3a", "s3n", "r2"}),
    "gcs": frozenset({"gs", "gcs"}),
    "azure": frozenset({"abfs", "abfss"}),
}


def register_object_stores() -> None:
    """Register this store for the schemes of object stores, except for schemes with another store that the program registered."""
    for scheme in KINDS.keys() - SCHEMES_OF_A_SESSION:
        if registered_name(scheme) in {None, _NAME}:
            register(scheme, _NAME, replace=True)


_NAME: Final = f"{__name__}:{open_session_object_store.__name__}"
