# SPDX-License-Identifier: Apache-2.0
"""Pass the ids of the running transactions to the JVM's threads: Spark calls back on other threads than Python calls from."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from bayou.log.commit.active_transactions import watch
from bayou.spark.jvm.gateway import Py4JError

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import Jvm

TRANSACTIONS_PROPERTY: Final = "bayou.transaction"
"""The local property of Spark's threads in which `bayou.Rule` finds the ids of the transactions around a query."""


def pass_transaction_ids(jvm: Jvm) -> None:
    """Set `TRANSACTIONS_PROPERTY` on each JVM thread whose Python thread enters or leaves a transaction from now on."""
    known = weakref.ref(jvm)  # the watch must not keep a stopped JVM alive

    def set_ids(ids: str) -> None:
        running = known()
        try:
            context = None if running is None else running.context
            if context is not None:
                context.setLocalProperty(TRANSACTIONS_PROPERTY, ids or None)
        except Py4JError:
            context = None  # the application was stopped
        if context is None:
            end()

    end = watch(set_ids)
