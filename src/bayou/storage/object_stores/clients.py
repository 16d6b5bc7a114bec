# SPDX-License-Identifier: Apache-2.0
"""Clients of obstore, the library that sends the requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bayou.errors import InvalidOptionError, MissingPackageError
from bayou.storage.object_stores.attempts import attempt
from bayou.storage.object_stores.options import ObjectOptions, unknown_option
from bayou.storage.object_stores.places import NAMES, PUBLIC_CLOUD, ObjectPlace

# The library quotes what it cannot read. A short value outside quotes may be a part of any word.
_SHORTEST: Final = 8
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")


def imported(place: ObjectPlace) -> Any:
    """The library.

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


def made_client(
    obstore: Any, place: ObjectPlace, options: ObjectOptions, max_retries: int | None, hide: Callable[[str], str], table: str
) -> Any:
    """Make a client; no request is sent.

    Args:
        obstore: the library.
        place: where the table is.
        options: credentials and settings.
        max_retries: how often a failed request is tried again; None for the library's own number.
        hide: takes secrets out of a text.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: an option is unknown, or has a value that cannot be read; the error names it.
    """
    classes = {"s3": obstore.store.S3Store, "gcs": obstore.store.GCSStore, "azure": obstore.store.AzureStore}
    retries: dict[str, Any] = {"retry_timeout": options.retry_timeout}
    if max_retries is not None:
        retries["max_retries"] = max_retries
    config = _config(place, options)

    def make(store: Mapping[str, str], client: Mapping[str, object]) -> Any:
        return classes[place.kind](place.bucket, config=dict(store), client_options=dict(client), retry_config=retries)

    made, failure = attempt(lambda: make(config, options.client), str)
    if failure is None:
        return made
    for name in config:
        if f"'{name}'" in failure.text or f'"{name}"' in failure.text:
            raise unknown_option(name, place.kind, table)
    raise _wrong_value(failure.text, config, options.client, make, hide, table)


def _config(place: ObjectPlace, options: ObjectOptions) -> dict[str, str]:
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
    return config


def _wrong_value(
    text: str,
    config: Mapping[str, str],
    client: Mapping[str, object],
    make: Callable[[Mapping[str, str], Mapping[str, object]], Any],
    hide: Callable[[str], str],
    table: str,
) -> InvalidOptionError:
    """The error for options that make no client. The library does not name the option: it is the one without which it makes one."""
    said = hide(_without_values(text, [*config.values(), *map(str, client.values())])).rstrip(". ")
    for name in (*client, *config):
        store = {each: value for each, value in config.items() if each != name}
        others = {each: value for each, value in client.items() if each != name}
        if attempt(lambda store=store, others=others: make(store, others), str)[1] is None:  # type: ignore[misc]
            return InvalidOptionError(
                f"The storage option {name} has a value that cannot be used: {said}.",
                table=table,
                option=name,
                next_step="Correct the value. docs/object_stores.md has the values.",
            )
    return InvalidOptionError(
        f"The storage options make no client: {said}.",
        table=table,
        next_step="Correct them. docs/object_stores.md has the names and values.",
    )


def _without_values(text: str, values: list[str]) -> str:
    spellings = {each for value in values for each in (value, value.strip(), " ".join(value.split()), json.dumps(value)[1:-1])}
    for each in sorted(spellings, key=len, reverse=True):
        text = text.replace(each, "...") if len(each) >= _SHORTEST else text
    return _QUOTED.sub("...", text)
