# SPDX-License-Identifier: Apache-2.0
"""Register log stores for URI schemes, and make the store that serves a scheme."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias

from bayou.errors import failed
from bayou.protocol import arguments
from bayou.storage.local import LocalStore
from bayou.storage.paths import QualifiedPath
from bayou.storage.store import LogStore

StoreFactory: TypeAlias = Callable[[QualifiedPath, Mapping[str, str]], LogStore]
"""Makes the store of a table from its location and the user's storage options."""

# As in `qualify`: a single letter is a drive.
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.\-]+", re.ASCII)
_FACTORY_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

_OBJECT_STORE: Final = "bayou.storage.object_stores.object_store:open_object_store"
# Used for a scheme unless another factory is registered.
_BUILT_IN: Final[Mapping[str, str]] = dict.fromkeys(
    ("abfs", "abfss", "az", "azure", "gcs", "gs", "https", "r2", "s3", "s3a", "s3n", "wasb", "wasbs"), _OBJECT_STORE
)

_lock: Final = threading.Lock()
_registered: Final[dict[str, StoreFactory | str]] = {}


def register(scheme: str, factory: StoreFactory | str, *, replace: bool = False) -> None:
    """Let a log store serve a scheme in this process.

    The store must keep the guarantees of `bayou.storage.LogStore`; `bayou.testing.log_store_conformance` checks them.

    Args:
        scheme: the scheme of a table's URI without the colon, in any case. `file` also serves paths without a scheme.
        factory: makes a store from the table's location and the storage options. Alternatively the name of such a callable,
            `package.module:Name`, which is imported when the first table with that scheme is opened.
        replace: whether to replace the factory that serves the scheme; `file` always has one.

    Raises:
        InvalidOptionError: the scheme or the factory's name is malformed, or the scheme is served already.
    """
    name = arguments.text(scheme, "scheme").lower()
    if not isinstance(factory, str):
        arguments.function(factory, "factory")
    if _SCHEME.fullmatch(name) is None:
        raise failed("DELTA_ILLEGAL_OPTION/scheme", scheme=scheme)
    if isinstance(factory, str) and _FACTORY_NAME.fullmatch(factory) is None:
        raise failed("DELTA_ILLEGAL_OPTION/factory", factory=factory)
    with _lock:
        if not replace and (name in _registered or name == "file"):
            served = _name(_registered.get(name, _local_store))
            raise failed("DELTA_ILLEGAL_OPTION/served-scheme", scheme=name, factory=served)
        _registered[name] = factory


def unregister(scheme: str) -> None:
    """Undo `register`; ignore a scheme that is not registered. The local store then serves `file` again."""
    with _lock:
        _registered.pop(arguments.text(scheme, "scheme").lower(), None)


def registered_schemes() -> tuple[str, ...]:
    """Return the schemes that a log store serves, sorted."""
    with _lock:
        return tuple(sorted({"file", *_BUILT_IN, *_registered}))


def registered_name(scheme: str) -> str | None:
    """Return the factory that was registered for a scheme, as `package.module:Name`; None if nothing was registered."""
    with _lock:
        found = _registered.get(arguments.text(scheme, "scheme").lower())
    return None if found is None else _name(found)


def make_store(place: QualifiedPath, storage_options: Mapping[str, str]) -> LogStore | None:
    """Return the store of a location from the factory that serves its scheme; None if no factory does.

    Raises:
        StorageError: the factory cannot be imported, or its result is not a log store.
    """
    with _lock:
        found = _registered.get(place.scheme, _local_store if place.scheme == "file" else _BUILT_IN.get(place.scheme))
    if found is None:
        return None
    store: Any = _load(found, place)(place, storage_options)
    if not isinstance(store, LogStore):
        missing = [name for name in vars(LogStore) if not name.startswith("_") and not callable(getattr(store, name, None))]
        kind = type(store).__name__
        raise failed("incomplete-log-store", table=place.uri, factory=_name(found), made=kind, missing=missing)
    return store


def _local_store(place: QualifiedPath, storage_options: Mapping[str, str]) -> LogStore:
    del storage_options  # a local folder has none
    return LocalStore(place.local or "/")


def _load(factory: StoreFactory | str, place: QualifiedPath) -> Any:
    if not isinstance(factory, str):
        return factory
    module, _, name = factory.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        said = str(error)
        raise failed("log-store-not-imported", table=place.uri, factory=factory, scheme=place.scheme, reason=said) from error
    return found


def _name(factory: StoreFactory | str) -> str:
    if isinstance(factory, str):
        return factory
    qualified = getattr(factory, "__qualname__", type(factory).__qualname__)
    return f"{getattr(factory, '__module__', '?')}:{qualified}"
