# SPDX-License-Identifier: Apache-2.0
"""obstore's clients for a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bayou.errors import InvalidOptionError, MissingPackageError, redact_uri
from bayou.storage.object_stores.failures import Failure
from bayou.storage.object_stores.options import ObjectOptions, unknown_option
from bayou.storage.object_stores.places import NAMES, PUBLIC_CLOUD, ObjectPlace

_SHORTEST_SECRET: Final = 8


class Clients:
    """What sends the requests for a table.

    Attributes:
        options: what they were made with.
        usual: sends a failed request again.
        once: sends a request once.
    """

    def __init__(self, obstore: Any, place: ObjectPlace, options: ObjectOptions, uri: str) -> None:
        """Make them; no request is sent.

        Args:
            obstore: the package, as `imported` gives it.
            place: where the table is.
            options: credentials and settings.
            uri: the table's URI, for errors.

        Raises:
            InvalidOptionError: an option is unknown, or has a value that cannot be read.
        """
        self.options = options
        retries: dict[str, Any] = {"retry_timeout": options.retry_timeout}
        given = {} if options.max_retries is None else {"max_retries": options.max_retries}
        table = redact_uri(uri)
        self.usual = _client(obstore, place, options, {**retries, **given}, table)
        self.once = _client(obstore, place, options, {**retries, "max_retries": 0}, table)


def imported(place: ObjectPlace) -> Any:
    """The package obstore.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import obstore  # noqa: PLC0415  (an extra)
        import obstore.store  # noqa: PLC0415
    except ImportError as error:
        raise MissingPackageError(
            f"Tables in {NAMES[place.kind]} need the package obstore, which is not installed.",
            next_step=f"pip install 'bayou[{place.kind}]'",
            package="obstore",
        ) from error
    return obstore


def _client(obstore: Any, place: ObjectPlace, options: ObjectOptions, retries: Mapping[str, Any], table: str) -> Any:
    classes = {"s3": obstore.store.S3Store, "gcs": obstore.store.GCSStore, "azure": obstore.store.AzureStore}
    config = dict(options.store)
    if place.kind == "s3":
        config.setdefault("aws_copy_if_not_exists", "multipart")  # else there is no copy that replaces nothing
    if place.account is not None and not any("account_name" in name for name in config):
        config["azure_storage_account_name"] = place.account
        # obstore takes every account for one of the public cloud.
        if place.cloud not in {None, PUBLIC_CLOUD} and not any(name.endswith("endpoint") for name in config):
            config["azure_storage_endpoint"] = f"https://{place.account}.blob.{place.cloud}"
    if place.is_onelake:
        config.setdefault("azure_use_fabric_endpoint", "true")
    asking: dict[str, Any] = {} if options.credentials is None else {"credential_provider": options.credentials}
    try:
        return classes[place.kind](
            place.bucket, config=config, client_options=dict(options.client), retry_config=dict(retries), **asking
        )
    except Exception as error:  # noqa: BLE001  (obstore's classes have no common one but this)
        for name in config:
            if f"'{name}'" in str(error) or f'"{name}"' in str(error):
                raise unknown_option(name, place.kind, table) from None
        text = Failure.of(error).text
        given = [str(value) for value in (*config.values(), *options.client.values())]
        for value in sorted(given, key=len, reverse=True):  # the library quotes what it cannot read
            text = text.replace(value, "...") if len(value) >= _SHORTEST_SECRET else text
        raise InvalidOptionError(
            f"The storage options for {NAMES[place.kind]} make no client: {text}.",
            table=table,
            next_step="Correct them. docs/object_stores.md has the names and values.",
        ) from None
