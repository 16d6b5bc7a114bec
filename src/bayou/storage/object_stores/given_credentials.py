# SPDX-License-Identifier: Apache-2.0
"""Keep credentials of the options apart from those of the environment.

obstore 0.12 reads environment variables itself, and mixes them with the options. It would send a session token of the environment
with a key of the options, and use an account key of the environment although the options have a SAS.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bayou.errors import failed
from bayou.storage.object_stores.hadoop_settings import short_name
from bayou.storage.object_stores.places import Kind

_VARIABLES: Final[Mapping[Kind, str]] = {"s3": "AWS_", "gcs": "GOOGLE_", "azure": "AZURE_"}
_KEY: Final = ("access_key_id", "secret_access_key")
_OF_SESSION: Final = "session_token"
_SKIP: Final = "skip_signature"
# What Azure authenticates with, in the order of object_store 0.14, and obstore's name for it. An application has none.
_OF_AZURE: Final = (
    ({"session_token", "bearer_token"}, "token"),
    ({"account_key"}, "access_key"),
    ({"client_id", "client_secret", "federated_token_file"}, None),
    ({"sas_key"}, "sas_token"),
)
_OF_GCS: Final = ("service_account", "service_account_key")


@dataclass(frozen=True)
class GivenCredentials:
    """Passes the credentials of the options to obstore, and nothing else.

    Attributes:
        options: the options that have them.
        values: the credentials by obstore's names.
    """

    options: Mapping[str, str] = field(repr=False)
    values: Mapping[str, str | None] = field(repr=False)

    def __call__(self) -> Mapping[str, Any]:
        """Return them for obstore. No expiry is known."""
        return {**self.values, "expires_at": None}


def apart_from_environment(store: Mapping[str, str], kind: Kind, table: str) -> tuple[dict[str, str], GivenCredentials | None]:
    """Move the credentials out of the options, if obstore would mix them with those of the environment or prefer the latter.

    Args:
        store: obstore's options, by their names in lower case.
        kind: the kind of store.
        table: the table's URI, for errors.

    Returns:
        The other options, and the credentials; None if the options may keep them.

    Raises:
        InvalidOptionError: obstore would prefer the environment's, and accepts the options' in no other way.
    """
    given = {short_name(name): name for name in store}
    found = {short_name(name): name for name, value in os.environ.items() if name.startswith(_VARIABLES[kind]) and value}
    if kind == "s3":
        return _of_s3(store, given, found)
    if kind == "azure":
        return _of_azure(store, given, found, table)
    for mine, other in (_OF_GCS, _OF_GCS[::-1]):
        if mine in given and other in found:
            raise failed("DELTA_ILLEGAL_OPTION/two-credentials", table=table, variable=found[other], option=given[mine])
    return dict(store), None


def _of_s3(
    store: Mapping[str, str], given: Mapping[str, str], found: Mapping[str, str]
) -> tuple[dict[str, str], GivenCredentials | None]:
    if any(name not in given for name in _KEY) or _OF_SESSION in given or not found.keys() & {_OF_SESSION, _SKIP}:
        return dict(store), None
    values: dict[str, str | None] = {name: store[given[name]] for name in _KEY}
    left, credentials = _taken(store, [given[name] for name in _KEY], {**values, "token": None})
    return ({"aws_skip_signature": "false", **left} if _SKIP not in given else left), credentials


def _of_azure(
    store: Mapping[str, str], given: Mapping[str, str], found: Mapping[str, str], table: str
) -> tuple[dict[str, str], GivenCredentials | None]:
    rivals = [name for names, _ in _OF_AZURE for name in names & found.keys()]
    for names, value in _OF_AZURE:
        mine = sorted(names & given.keys())
        if mine and any(name not in names for name in rivals) and _SKIP not in given:
            if value is not None:
                return _taken(store, [given[name] for name in mine], {value: store[given[mine[0]]]})
            stronger = next((each for each in rivals if each in {"session_token", "bearer_token", "account_key"}), None)
            if stronger is not None:
                variable, option = found[stronger], given[mine[0]]
                raise failed("DELTA_ILLEGAL_OPTION/two-credentials", table=table, variable=variable, option=option)
        if mine:
            break
    return dict(store), None


def _taken(
    store: Mapping[str, str], names: Iterable[str], values: Mapping[str, str | None]
) -> tuple[dict[str, str], GivenCredentials]:
    taken = {name: store[name] for name in names}
    return {name: value for name, value in store.items() if name not in taken}, GivenCredentials(taken, values)
