# SPDX-License-Identifier: Apache-2.0
"""The TABLE argument and the storage options of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from bayou.log.delta_log import DeltaLog, open_log

C = TypeVar("C", bound=Callable[..., Any])

_OPTIONS: Final = "bayou.storage_options"
_WIDE: Final = "bayou.wide"


def table_argument(command: C) -> C:
    """Add the argument TABLE, the option `--storage-option`, which `open_table` uses, and the option `--wide`."""
    option = click.option(
        "--storage-option",
        multiple=True,
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_note,
        help="Set an option of the object store. Put secrets into the environment: other users can see a command line.",
    )
    wide = click.option(
        "--wide",
        is_flag=True,
        expose_value=False,
        callback=_note_wide,
        help="Show all columns in full on a terminal, even if lines get long.",
    )
    return click.argument("table", shell_complete=complete_folder)(option(wide(command)))


def example(command: str) -> str:
    """Return the last line of a command's help."""
    return f"Example: {command}"


def is_wide() -> bool:
    """Whether the running command got `--wide`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_WIDE))


def complete_folder(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the path of a folder."""
    return [CompletionItem(incomplete, type="dir")]


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


def _note_wide(context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001  (the option of that name)
    context.meta[_WIDE] = given
