# SPDX-License-Identifier: Apache-2.0
"""The TABLE argument and the storage options of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from bayou.log.delta_log import DeltaLog, open_log

C = TypeVar("C", bound=Callable[..., Any])

_OPTIONS: Final = "bayou.storage_options"


def table_argument(command: C) -> C:
    """Add the argument TABLE and the option `--storage-option`, which `open_table` uses."""
    option = click.option(
        "--storage-option",
        multiple=True,
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_note,
        help="Access to an object store. Put secrets into the environment: others see a command line.",
    )
    return click.argument("table")(option(command))


def open_table(path: str) -> DeltaLog:
    """Open a table with the storage options of the running command."""
    return open_log(path, storage_options())


def storage_options() -> Mapping[str, str]:
    """Return the storage options of the running command."""
    found: Mapping[str, str] = click.get_current_context().meta.get(_OPTIONS, {})
    return found


def pair(text: str, option: str) -> tuple[str, str]:
    """Split KEY=VALUE.

    Raises:
        click.BadParameter: the argument is not KEY=VALUE. The error does not repeat it, because it may be a secret.
    """
    key, separator, value = text.partition("=")
    if not (separator and key):
        message = "it is not KEY=VALUE"
        raise click.BadParameter(message, param_hint=option)
    return key, value


def _note(context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> None:
    context.meta[_OPTIONS] = dict(pair(each, "--storage-option") for each in given)
