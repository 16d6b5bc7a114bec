# SPDX-License-Identifier: Apache-2.0
"""What an operation has made is committed, or taken back where it is certain that it is not in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import DeltaError, StorageError
from bayou.log.commit.transaction import Unchanged
from bayou.spark.data_files.uncommitted_files import taking_back
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.log.commit.transaction import Committed, Transaction
    from bayou.spark.data_files.target import HeadAction
    from bayou.spark.data_files.written_files import NewFiles


def commit_new_files(
    transaction: Transaction,
    added: NewFiles,
    metrics: Mapping[str, object],
    take_back: Callable[[], None],
    *,
    head: Sequence[HeadAction] = (),
    spares: Callable[[DeltaError], bool] = lambda _: False,
    keeps_row_ids: bool = False,
) -> Committed | Unchanged:
    """Commits new files, or takes back what was made where nothing was committed.

    Where the store fails during the commit, it may be in the log all the same, and everything stays. So it does after errors
    that say nothing of the commit, as an interrupt, unless no attempt was made at that moment.

    Args:
        transaction: the operation's transaction, with all that it removes.
        take_back: deletes the files, and what else was made for the commit.
        head: the actions beside the files, where what was written does not make them others.
        spares: whether what was made is still of use after an error that says that it was not committed.
        keeps_row_ids: whether files of rows that only move hold the ids of these rows (see `Transaction.commit`).

    Raises:
        ConcurrentModificationError: another commit excludes this one.
        StorageError: the store failed; the commit may be in the log all the same.
    """
    with taking_back(take_back):
        phase("committing")
        transaction.log.store.sync(added.relative_paths)
    try:
        outcome = transaction.commit(
            [*(added.head or head), *added.actions], metrics=metrics, new_files=True, keeps_row_ids=keeps_row_ids
        )
    except BaseException as error:
        is_out = isinstance(error, DeltaError) and not isinstance(error, StorageError) and not spares(error)
        if is_out or transaction.is_abandoned:
            take_back()
        raise
    if isinstance(outcome, Unchanged):
        take_back()
    return outcome
