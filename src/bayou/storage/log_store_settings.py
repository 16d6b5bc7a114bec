# SPDX-License-Identifier: Apache-2.0
"""What delta-spark's log store settings mean in bayou, which loads no log store of the JVM.

A setting is honored if bayou's own store for the scheme excludes the writers that the named class excludes, and works with
them. It is refused if commits of bayou and of the class could replace each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayou.errors import DeltaError, failed
from bayou.storage.registry import registered_name

_PREFIXES: Final = ("spark.delta.logStore.", "delta.logStore.")
_CLASS: Final = "class"
_OWN: Final = "bayou."
_IMPL: Final = ".impl"

# The default of `delta.logStore.class`: it chooses by scheme.
_BY_SCHEME: Final = "DelegatingLogStore"

# delta-spark's classes whose writers can share a table with bayou's store for the scheme.
_HONORED: Final[Mapping[str, Mapping[str, str]]] = {
    "HDFSLogStore": {"file": "LocalStore", "hdfs": "HadoopStore", "viewfs": "HadoopStore"},
    "LocalLogStore": {"file": "LocalStore"},
    "AzureLogStore": {"abfs": "HadoopStore", "abfss": "HadoopStore", "wasb": "ObjectStore", "wasbs": "ObjectStore"},
    "GCSLogStore": {"gs": "ObjectStore", "gcs": "ObjectStore"},
}
_ONE_JVM: Final = "it excludes writers inside one JVM only, and other programs must not write the table at the same time"
_REFUSED: Final[Mapping[str, str]] = {
    "S3SingleDriverLogStore": _ONE_JVM,
    "S3DynamoDBLogStore": "its writers agree through a table in DynamoDB, which bayou does not use",
    "S3LogStore": _ONE_JVM,
    "IBMCOSLogStore": "bayou has no store for IBM Cloud Object Storage yet",
    "OracleCloudLogStore": "bayou has no store for Oracle Cloud Object Storage yet",
}


def check_spark_log_store_conf(conf: Mapping[str, str], *, scheme: str | None = None) -> dict[str, str]:
    """Return the log stores that the `spark.delta.logStore.*` settings of a session select.

    The same keys without `spark.` count too, as in delta-spark. If bayou does not serve a scheme itself and a store was
    registered for it in Python, that store is used whatever class is named.

    Args:
        conf: the session's settings; other keys are ignored.
        scheme: check only the settings for this scheme; None for all schemes.

    Returns:
        The store in bayou for each scheme that a setting names: `LocalStore`, `HadoopStore`, `ObjectStore`, or the registered
        `package.module:Name`. Empty if nothing is set.

    Raises:
        StorageError: with DELTA_INVALID_LOGSTORE_CONF if a class for all schemes and one for some are both set, with
            DELTA_INCONSISTENT_LOGSTORE_CONFS if a key has different values with and without `spark.`, with
            DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION if the class is refused.

    Source: delta-spark's LogStoreProvider and DelegatingLogStore.
    """
    settings = _settings(conf)
    by_scheme = {name.removesuffix(_IMPL).lower(): value for name, value in settings.items() if name.endswith(_IMPL)}
    for_all = settings.get(_CLASS)
    if for_all is not None and by_scheme:
        raise failed("DELTA_INVALID_LOGSTORE_CONF", settings=[f"{_PREFIXES[0]}{name}" for name in sorted(settings)])
    wanted = None if scheme is None else scheme.lower()
    if for_all is not None:
        return _for_all(for_all, wanted)
    return {name: _store(name, value) for name, value in by_scheme.items() if wanted in {None, name}}


def _settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings by their names without the prefix: `class`, `hdfs.impl`."""
    settings: dict[str, str] = {}
    for prefix in _PREFIXES:
        for key, value in conf.items():
            name = key.removeprefix(prefix)
            if not key.startswith(prefix) or not (name == _CLASS or name.endswith(_IMPL)):
                continue
            if settings.setdefault(name, value.strip()) != value.strip():
                setting, known = f"{_PREFIXES[0]}{name}", settings[name]
                raise failed("DELTA_INCONSISTENT_LOGSTORE_CONFS", setting=setting, value=known, other=key, other_value=value)
    return settings


def _for_all(class_name: str, wanted: str | None) -> dict[str, str]:
    known = _simple_name(class_name)
    if known == _BY_SCHEME:
        return {}
    if wanted is not None:
        return {wanted: _store(wanted, class_name)}
    honored = _HONORED.get(known)
    if honored is None:
        raise _refused(class_name, None)
    return dict(honored)


def _store(scheme: str, class_name: str) -> str:
    known = _simple_name(class_name)
    honored = _HONORED.get(known, {}).get(scheme)
    if honored is not None:
        return honored
    registered = None if any(scheme in honored for honored in _HONORED.values()) else registered_name(scheme)
    if registered is None or registered.startswith(_OWN):
        raise _refused(class_name, scheme)
    return registered


def _simple_name(class_name: str) -> str:
    """Return a class's own name if it is one of delta-spark's, from its current or former package; otherwise an empty string."""
    package, _, name = class_name.rpartition(".")
    is_scala = package.startswith("org.apache.") and package.endswith(".spark.sql.delta.storage")
    return name if package == "io.delta.storage" or is_scala else ""


def _refused(class_name: str, scheme: str | None) -> DeltaError:
    known = _simple_name(class_name)
    if known in _REFUSED:
        why = _REFUSED[known]
    elif known in _HONORED:
        why = f"it is for {', '.join(sorted(_HONORED[known]))}"
    else:
        why = "bayou loads no class of the JVM for this, and cannot know which writers it keeps apart"
    if scheme is None:
        return failed("DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION", log_store=class_name, reason=why)
    return failed("DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION/scheme", log_store=class_name, scheme=scheme, reason=why)
