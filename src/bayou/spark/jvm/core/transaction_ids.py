# SPDX-License-Identifier: Apache-2.0
"""Which transactions the JVM's threads run inside of: Spark calls back on other threads than those that Python calls from."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

from bayou.log.commit.active_transactions import watch

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import Jvm

TRANSACTIONS_PROPERTY: Final = "bayou.transaction"
"""The local property of Spark's threads that `bayou.Rule` reads: the ids of the transactions that a query runs inside of."""


def tell_transactions(jvm: Jvm) -> None:
    """Sets `TRANSACTIONS_PROPERTY` on each JVM thread whose Python thread enters or leaves a transaction, from now on."""
    known = weakref.ref(jvm)

    def tell(ids: str) -> None:
        found = known()
        try:
            context = None if found is None else found.context
            if context is not None:
                context.setLocalProperty(TRANSACTIONS_PROPERTY, ids or None)
        except Py4JError:
            context = None  # the application was stopped
        if context is None:
            end()

    end = watch(tell)
