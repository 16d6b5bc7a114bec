# SPDX-License-Identifier: Apache-2.0
"""The versions that applications give to their own batches, so that one which is sent twice is committed once.

Source: PROTOCOL.md, "Transaction Identifiers".
"""

from __future__ import annotations

from typing import Final

from bayou.errors import InvalidOptionError
from bayou.protocol import arguments

_LIMIT: Final = 1 << 63
"""The first number that the log cannot hold."""


def checked_txn(txn: tuple[str, int] | None, table: str) -> tuple[str, int] | None:
    """An application's id and a version of its own, as they were given.

    Args:
        txn: both; None where there are none.
        table: the table's URI, for messages.

    Raises:
        InvalidOptionError: they are no id and number.
    """
    if txn is None:
        return None
    try:
        app_id, version = txn
    except (TypeError, ValueError):
        app_id, version = "", -1
    if type(app_id) is not str or not app_id or type(version) is not int or not 0 <= version < _LIMIT:
        raise InvalidOptionError(
            f"txn is {arguments.shown_text(txn)}, and should be an application's id and a number from 0 to {_LIMIT - 1}",
            table=table,
            next_step="Give for example txn=('nightly-load', 17), and a higher number for each run.",
        )
    return arguments.text(app_id, "the application's id of txn", table=table), version
