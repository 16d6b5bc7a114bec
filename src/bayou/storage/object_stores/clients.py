# SPDX-License-Identifier: Apache-2.0
"""Create the clients of obstore, the library that sends the requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import DeltaError, failed, redact_uri
from bayou.storage.object_stores.attempts import attempt
from bayou.storage.object_stores.credentials import Credentials
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import NAMES, PUBLIC_CLOUD, ObjectPlace
from bayou.storage.object_stores.secrets import Secrets

# The library quotes values that it cannot parse. A shorter value outside quotes may be part of any word.
_SHORTEST: Final = 8
# The library's message if an option is missing, and which one.
_MISSING: Final[Mapping[str, str]] = {
    "Missing AccessKeyId": "AWS_ACCESS_KEY_ID",
    "Missing SecretAccessKey": "AWS_SECRET_ACCESS_KEY",
    "Account must be specified": "AZURE_STORAGE_ACCOUNT_NAME",
}
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")


def imported(place: ObjectPlace) -> Any:
    """Import the library, or raise MissingPackageError."""
    try:
        import obstore  # noqa: PLC0415  (an extra)
        import obstore.store  # noqa: PLC0415
    except ImportError as error:
        raise failed("obstore-missing", store=NAMES[place.kind], kind=place.kind, package="obstore") from error
    return obstore


class Clients:
    """The clients that send the requests for a table.

    Attributes:
        options: the options that they were created with.
        secrets: the parts of the options that must not be shown.
        usual: a client that retries failed requests.
        once: a client that sends each request once.
    """

    def __init__(self, obstore: Any, place: ObjectPlace, options: ObjectOptions, uri: str) -> None:
        """Create them without sending a request.

        Args:
            obstore: the package, from `imported`.
            place: the table's location.
            options: credentials and settings.
            uri: the table's URI, for errors.

        Raises:
            InvalidOptionError: an option is unknown, or has a value that cannot be parsed; the error names it.
        """
        self.options = options
        given = getattr(options.credentials, "options", {})  # moved out of the store's options
        self.secrets = Secrets({**options.client, **options.store, **given})
        tries = {} if options.max_retries is None else {"max_retries": options.max_retries}
        self.usual = _client(obstore, place, options, tries, self.secrets, redact_uri(uri))
        self.once = _client(obstore, place, options, {"max_retries": 0}, self.secrets, redact_uri(uri))


def _client(
    obstore: Any, place: ObjectPlace, options: ObjectOptions, tries: Mapping[str, int], secrets: Secrets, table: str
) -> Any:
    classes = {"s3": obstore.store.S3Store, "gcs": obstore.store.GCSStore, "azure": obstore.store.AzureStore}
    retries = {"retry_timeout": options.retry_timeout, **tries}
    config = _config(place, options, table)
    asking = {} if options.credentials is None else {"credential_provider": _Remembered(options.credentials, secrets)}

    def make(store: Mapping[str, str], client: Mapping[str, object]) -> Any:
        return classes[place.kind](place.bucket, config=dict(store), client_options=dict(client), retry_config=retries, **asking)

    made, failure = attempt(lambda: make(config, options.client), str)
    if failure is None:
        return made
    for name in config:
        if f"'{name}'" in failure.text or f'"{name}"' in failure.text:
            raise failed("DELTA_ILLEGAL_OPTION/storage-option", table=table, option=name, store=NAMES[place.kind])
    raise _wrong_value(failure.text, config, options.client, make, secrets.hide, table)


@dataclass(frozen=True)
class _Remembered:
    """Requests credentials, and hides them from errors."""

    ask: Credentials
    secrets: Secrets

    def __call__(self) -> Mapping[str, Any]:
        found = self.ask()
        self.secrets.add(str(found[name]) for name in ("access_key_id", "secret_access_key", "token") if found.get(name))
        return found


def _config(place: ObjectPlace, options: ObjectOptions, table: str) -> dict[str, str]:
    config = dict(options.store)
    if place.kind == "s3":
        config.setdefault("aws_copy_if_not_exists", "multipart")  # otherwise every copy may replace a file
    named = next((name for name in config if "account_name" in name), None)
    has_endpoint = any(name.endswith("endpoint") for name in config)
    if place.account is not None and named is not None and config[named] != place.account and not has_endpoint:
        raise failed("DELTA_ILLEGAL_OPTION/storage-account", table=table, account=place.account, option=named)
    if place.account is not None and named is None:
        config["azure_storage_account_name"] = place.account
        # obstore assumes that every account is in the public cloud.
        if place.cloud not in {None, PUBLIC_CLOUD} and not has_endpoint:
            config["azure_storage_endpoint"] = f"https://{place.account}.blob.{place.cloud}"
    if place.is_onelake:
        config.setdefault("azure_use_fabric_endpoint", "true")
    return config


def _wrong_value(
    text: str,
    config: Mapping[str, str],
    client: Mapping[str, object],
    make: Callable[[Mapping[str, str], Mapping[str, object]], Any],
    hide: Callable[[str], str],
    table: str,
) -> DeltaError:
    """Return the error for options that create no client. The library does not name the wrong one, so try without each of them."""
    for missing, option in _MISSING.items():
        if missing in text:
            return failed("DELTA_ILLEGAL_OPTION/storage-option-missing", table=table, option=option)
    said = hide(_without_values(text, [*config.values(), *map(str, client.values())])).rstrip(". ")
    for name in (*client, *config):
        store = {each: value for each, value in config.items() if each != name}
        others = {each: value for each, value in client.items() if each != name}
        if attempt(lambda store=store, others=others: make(store, others), str)[1] is None:  # type: ignore[misc]
            return failed("DELTA_ILLEGAL_OPTION/storage-option-value", table=table, option=name, reason=said)
    return failed("DELTA_ILLEGAL_OPTION/storage-options", table=table, reason=said)


def _without_values(text: str, values: list[str]) -> str:
    spellings = {each for value in values for each in (value, value.strip(), " ".join(value.split()), json.dumps(value)[1:-1])}
    for each in sorted(spellings, key=len, reverse=True):
        text = text.replace(each, "...") if len(each) >= _SHORTEST else text
    return _QUOTED.sub("...", text)
