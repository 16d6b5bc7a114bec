# SPDX-License-Identifier: Apache-2.0
"""Files of deletion vectors go where their commit did not land, and stay where nobody knows."""

from __future__ import annotations

from contextlib import suppress

import pytest
from tests.support.operations.row_changes import Delete, begin, keys, run_all, table

from bayou.errors import InvalidCommitError, StorageError
from bayou.log.commit.outcomes import Unchanged
from bayou.protocol.actions.actions import AddFile


def test_vectors_go_where_nothing_is_committed():
    found = table(range(4))
    with suppress(KeyError), found.log.transaction("DELETE") as transaction:
        Delete(keys(1)).stage(transaction, found)
        raise KeyError
    with found.log.transaction("DELETE") as transaction:
        Delete(keys(1)).stage(transaction, found)
    with found.log.transaction("DELETE") as transaction:
        Delete(keys(1)).stage(transaction, found)
        with pytest.raises(InvalidCommitError):
            transaction.commit([AddFile("part-0", {}, 1, 1)])
    with found.log.transaction("DELETE", txn=("job", 1)) as transaction:
        Delete(keys(1)).stage(transaction, found)
        with found.log.transaction("DELETE", txn=("job", 1)) as other:
            other.commit()
        assert isinstance(transaction.commit(), Unchanged)
    assert found.unused_vector_files() == set()


def test_vectors_go_where_the_store_fails_after_a_lost_race():
    found = table(range(4))
    second = begin(Delete(keys(1)), found)
    run_all(found, [Delete(keys(2))])
    put = found.store.put_if_absent

    def failing(path, data):
        done = put(path, data)
        if path.endswith(".bin"):
            raise StorageError("lost the answer")
        return done

    found.store.put_if_absent = failing
    with pytest.raises(StorageError):
        second.commit()
    assert found.unused_vector_files() == set()
    assert sorted(found.rows()) == [0, 1, 3]


def test_vectors_stay_where_nobody_knows_whether_the_commit_landed():
    found = table(range(4))
    second = begin(Delete(keys(1)), found)
    found.store.before_put = lambda: (_ for _ in ()).throw(StorageError("no answer"))
    put = found.store.put_if_absent

    def failing(path, data):
        if path.endswith(".json"):
            raise StorageError("no answer")
        return put(path, data)

    found.store.put_if_absent = failing
    with pytest.raises(StorageError):
        second.commit()
    assert len(found.unused_vector_files()) == 1


def test_nothing_is_committed_where_no_row_is_deleted():
    found = table(range(4))
    with found.log.transaction("DELETE") as transaction:
        Delete(keys(77)).stage(transaction, found)
        assert transaction.commit() == Unchanged(1, "empty")
