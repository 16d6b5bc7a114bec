# SPDX-License-Identifier: Apache-2.0
"""Tables in object stores on a session: the log is reached with the settings that Spark reaches the data files with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import StorageError, redact_uri
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.hadoop import HadoopError, hadoop_settings
from bayou.spark.session.hadoop_store import check_log_store_settings
from bayou.storage import register
from bayou.storage.object_stores.hadoop_settings import PREFIXES, secret_names, storage_options
from bayou.storage.object_stores.object_store import ObjectStore, open_object_store
from bayou.storage.object_stores.places import KINDS, place_of
from bayou.storage.open_store import SCHEMES_OF_A_SESSION
from bayou.storage.registry import registered_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage import QualifiedPath


def open_session_object_store(place: QualifiedPath, given: Mapping[str, str]) -> ObjectStore:
    """The store of a table. The session's Hadoop settings hold, then `fs.*` options, then storage options.

    Args:
        place: where the table is.
        given: storage options, and settings of Hadoop's file systems.

    Raises:
        StorageError: a setting of the session asks for a log store that bayou does not honour, or its credentials cannot be read.
        InvalidOptionError: an option is unknown, or a setting has no counterpart.
    """
    jvm = Jvm.running()
    if jvm is None:
        return open_object_store(place, given)
    check_log_store_settings(jvm, place.scheme)
    found = place_of(place)
    try:
        settings = hadoop_settings(jvm, PREFIXES[found.kind], secret_names(found))
    except HadoopError as error:
        raise StorageError(
            f"The credentials for the table cannot be read: {error}",
            table=redact_uri(place.uri),
            next_step="Correct hadoop.security.credential.provider.path.",
        ) from error
    settings |= {name: value for name, value in given.items() if name.startswith("fs.")}
    own = {name: value for name, value in given.items() if not name.startswith("fs.")}
    return open_object_store(place, {**storage_options(settings, found, place.uri), **own})


def register_object_stores() -> None:
    """Has a session's settings hold for object stores, but for schemes that the program has registered another store for."""
    for scheme in KINDS.keys() - SCHEMES_OF_A_SESSION:
        if registered_name(scheme) in {None, _NAME}:
            register(scheme, _NAME, replace=True)


_NAME: Final = f"{__name__}:{open_session_object_store.__name__}"
