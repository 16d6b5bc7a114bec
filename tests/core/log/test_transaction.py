# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bayou.errors import (
    AppendOnlyError,
    ConcurrentModificationError,
    ConcurrentTransactionException,
    InvalidCommitError,
    InvalidOptionError,
    StorageError,
    TransactionStateError,
    UnsupportedFeatureError,
)
from bayou.log.metadata_tags import metadata_tags
from bayou.log.transaction import Committed, Transaction, Unchanged, Unknown
from bayou.protocol import file_names
from bayou.protocol.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vector import DeletionVectorDescriptor
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, metadata

FILE = AddFile("mine", {}, 5, 5)
SCHEMA = metadata()["metaData"]["schemaString"]


def table(store=None, **options):
    return TableBuilder(store=store or MemoryStore()).create(**options)


def begin(builder, **options):
    log = builder.log()
    return Transaction(log, log.snapshot(), "WRITE", {"mode": "Append", "partitionBy": []}, **options)


def committed(builder, version):
    return [json.loads(line) for line in builder.store.read(file_names.commit_path(version)).splitlines()]


def test_a_commit_is_the_next_version_with_its_provenance_first():
    builder = table()
    transaction = begin(builder, engine_info="test", user_metadata="note", clock=lambda: 1_700_000_000.5)
    outcome = transaction.commit([FILE], metrics={"numFiles": 1})
    assert outcome == Committed(1, 1)
    first, second = committed(builder, 1)
    assert first == {
        "commitInfo": {
            "timestamp": 1_700_000_000_500,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": "[]"},
            "readVersion": 0,
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {"numFiles": "1"},
            "userMetadata": "note",
            "engineInfo": "test",
            "txnId": transaction.txn_id,
        }
    }
    assert next(iter(first["commitInfo"])) == "timestamp"
    assert second == {"add": FILE.to_json()}
    assert builder.log().snapshot().files(["path"])["path"].to_pylist() == ["mine"]


def test_the_first_commit_creates_the_table(tmp_path):
    builder = TableBuilder(tmp_path / "new" / "table")
    transaction = Transaction(builder.log(), None, "CREATE TABLE")
    assert transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA), FILE]).version == 0
    assert "readVersion" not in committed(builder, 0)[0]["commitInfo"]
    assert builder.log().snapshot().num_files == 1


def test_the_first_commit_needs_protocol_and_metadata():
    transaction = Transaction(TableBuilder(store=MemoryStore()).log(), None, "WRITE")
    with pytest.raises(InvalidCommitError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_METADATA_ABSENT"


def test_of_two_creators_one_loses():
    builder = TableBuilder(store=MemoryStore())
    transaction = Transaction(builder.log(), None, "CREATE TABLE")
    builder.create()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA)])
    assert caught.value.conflicting_version == 0


def test_a_blind_append_goes_on_top_of_other_data_changes():
    builder = table()
    transaction = begin(builder)
    builder.commit(add("theirs")).commit(add("theirs2"))
    assert transaction.commit([FILE]) == Committed(3, 2)
    assert committed(builder, 3)[0]["commitInfo"]["readVersion"] == 0
    assert builder.log().snapshot().num_files == 3


def test_a_thousand_lost_versions_cost_one_listing_and_one_pass():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    for number in range(1000):
        builder.commit(add(f"theirs{number}"))
    builder.store.reset()
    assert transaction.commit([FILE]) == Committed(1001, 2)
    assert builder.store.count("put_if_absent", r"\d+\.json") == 2
    # One listing for the race, and one to see that the commit is listed.
    assert builder.store.count("list_from") == 2


def test_racing_appends_all_land_once(tmp_path):
    builder = TableBuilder(tmp_path).create()

    def append(number):
        log = builder.log()
        transaction = Transaction(log, log.snapshot(), "WRITE")
        return transaction.commit([AddFile(f"f{number}", {}, 1, 1)]).version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(append, range(40)))
    assert sorted(versions) == list(range(1, 41))
    paths = builder.log().snapshot().files(["path"])["path"].to_pylist()
    assert sorted(paths) == sorted(f"f{number}" for number in range(40))


class FailingStore(MemoryStore):
    """Fails puts, before or after they are done."""

    def __init__(self, *, done, readable=True):
        super().__init__()
        self.failing = False
        self.done = done
        self.readable = readable

    def put_if_absent(self, path, data):
        if not self.failing:
            return super().put_if_absent(path, data)
        if self.done:
            super().put_if_absent(path, data)
        raise StorageError("the connection broke")

    def read(self, path):
        if self.failing and not self.readable:
            raise StorageError("the connection broke")
        return super().read(path)


def test_a_commit_that_landed_though_the_store_failed_is_found_by_its_name():
    builder = table(FailingStore(done=True))
    transaction = begin(builder)
    builder.store.failing = True
    assert transaction.commit([FILE]) == Committed(1, 1)


@pytest.mark.parametrize("done", [True, False])
def test_an_outcome_that_cannot_be_known_is_a_value_of_its_own(done):
    builder = table(FailingStore(done=done, readable=not done))
    transaction = begin(builder)
    builder.store.failing = True
    outcome = transaction.try_commit([FILE])
    assert isinstance(outcome, Unknown)
    assert outcome.error.outcome == "unknown"
    assert transaction.txn_id in str(outcome.error)


def test_a_put_that_failed_and_did_not_land_is_tried_again():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    builder.store.add(Fault("put_if_absent", r"0001\.json", "before"))
    assert transaction.commit([FILE]) == Committed(1, 1)
    assert builder.log().snapshot().num_files == 1


def test_a_failed_put_whose_version_another_writer_made_goes_on_top():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)

    def theirs(*_arguments):
        TableBuilder.commit(other, add("theirs"))

    other = TableBuilder(store=builder.store.inner)
    other.version = 0
    builder.store.add(Fault("put_if_absent", r"0001\.json", "hook", hook=theirs))
    builder.store.add(Fault("put_if_absent", r"0001\.json", "before"))
    assert transaction.commit([FILE]).version == 2
    assert builder.log().snapshot().num_files == 2


def test_a_commit_that_the_store_does_not_list_is_an_error_that_says_it_stands():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    listed = list(builder.store.list_from("_delta_log/"))
    builder.store.list_from = lambda path: iter([each for each in listed if each.path >= path])
    with pytest.raises(StorageError, match="The commit stands") as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_INVALID_COMMITTED_VERSION"
    assert caught.value.outcome == "committed"


def test_a_first_commit_that_the_store_does_not_list_is_one_too():
    store = FaultyStore(MemoryStore())
    store.list_from = lambda _path: iter(())
    transaction = Transaction(TableBuilder(store=store).log(), None, "CREATE TABLE")
    with pytest.raises(StorageError, match="its rows are in the table") as caught:
        transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA)])
    assert (caught.value.outcome, caught.value.version) == ("committed", 0)


@pytest.mark.parametrize("options", [{"user_metadata": "\ud800"}, {"engine_info": "a\udcffb"}, {"txn": ("\udfff", 1)}], ids=str)
def test_a_text_that_is_no_unicode_is_refused_before_anything_is_written(options):
    builder = table()
    with pytest.raises(InvalidCommitError, match="no Unicode"):
        begin(builder, **options).commit([FILE])
    assert builder.log().version() == 0


def test_a_table_with_rules_is_refused_before_anything_is_written():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.enableIcebergCompatV2": "true"})
    with pytest.raises(UnsupportedFeatureError, match="IcebergCompatV2"):
        begin(builder)


def test_actions_that_bring_rules_are_refused():
    builder = table()
    changed = replace(builder.log().snapshot().metadata, configuration={"delta.enableIcebergCompatV2": "true"})
    with pytest.raises(UnsupportedFeatureError, match="IcebergCompatV2"):
        begin(builder).commit([changed])
    assert builder.log().version() == 0


def test_a_transaction_commits_once():
    builder = table()
    transaction = begin(builder)
    transaction.commit([FILE])
    with pytest.raises(TransactionStateError, match="committed"):
        transaction.commit([AddFile("more", {}, 1, 1)])


def test_a_transaction_that_failed_or_was_left_refuses_reuse():
    builder = table()
    failed = begin(builder)
    with pytest.raises(InvalidCommitError):
        failed.commit([FILE, FILE])
    with pytest.raises(TransactionStateError, match="failed"):
        failed.commit([FILE])
    assert failed.is_abandoned
    with builder.log().transaction() as left:
        pass
    with pytest.raises(TransactionStateError, match="left"):
        left.stage(FILE)
    assert not left.is_abandoned
    with pytest.raises(ZeroDivisionError), builder.log().transaction() as broken:
        broken.commit([AddFile(str(1 // 0), {}, 1, 1)])
    with pytest.raises(TransactionStateError, match="failed"):
        broken.files()
    assert builder.log().version() == 0


def test_staged_actions_are_committed_with_the_others():
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        transaction.stage(FILE)
        assert transaction.commit([AddFile("more", {}, 1, 1)]).version == 1
    assert sorted(builder.log().snapshot().files(["path"])["path"].to_pylist()) == ["mine", "more"]


def test_an_empty_commit_makes_no_version():
    builder = table()
    assert begin(builder).commit() == Unchanged(0, "empty")
    assert begin(builder).commit([AddFile("empty", {}, 5, 5, stats='{"numRecords": 0}')]) == Unchanged(0, "empty")
    assert builder.log().version() == 0


def test_a_commit_for_an_application_is_made_once():
    builder = table()
    assert begin(builder, txn=("job", 7)).commit([FILE]) == Committed(1, 1)
    assert committed(builder, 1)[1]["txn"]["version"] == 7
    for version in (7, 6):
        replay = begin(builder, txn=("job", version))
        assert replay.is_replay
        assert replay.commit([AddFile("again", {}, 1, 1)]) == Unchanged(1, "replayed")
    assert begin(builder, txn=("other", 7)).commit([AddFile("b", {}, 1, 1)]) == Committed(2, 1)
    assert begin(builder, txn=("job", 8)).commit([AddFile("c", {}, 1, 1)]) == Committed(3, 1)


def test_of_two_runs_of_one_batch_the_second_is_a_replay_though_both_began():
    builder = table()
    first, second = begin(builder, txn=("job", 7)), begin(builder, txn=("job", 7))
    assert first.commit([FILE]) == Committed(1, 1)
    assert second.commit([AddFile("again", {}, 1, 1)]) == Unchanged(1, "replayed")
    assert builder.log().version() == 1


def test_a_later_batch_that_overtook_nothing_conflicts():
    builder = table()
    older, newer = begin(builder, txn=("job", 6)), begin(builder, txn=("job", 7))
    older.commit([FILE])
    with pytest.raises(ConcurrentTransactionException):
        newer.commit([AddFile("c", {}, 1, 1)])


@pytest.mark.parametrize("txn", [("", 1), ("app", -1), ("app", "1"), ("app",), 5, ("app", True)])
def test_an_application_version_that_is_none_is_refused(txn):
    with pytest.raises(InvalidOptionError, match="txn"):
        begin(table(), txn=txn)


def test_a_table_that_only_takes_appends_refuses_removals():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.appendOnly": "true"}).commit(add("a"))
    assert begin(builder).commit([FILE]).version == 2
    with pytest.raises(AppendOnlyError) as caught:
        begin(builder).commit([RemoveFile("a")])
    assert caught.value.getErrorClass() == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    # Moving rows about is no removal.
    assert begin(builder).commit([RemoveFile("a", data_change=False), AddFile("b", {}, 1, 1, data_change=False)]).version == 3


VECTOR = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))


@pytest.mark.parametrize(
    ("actions", "error_class"),
    [
        ([FILE, FILE], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([FILE, RemoveFile("mine")], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([AddFile("a%20b", {}, 1, 1), AddFile("./a b", {}, 1, 1)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([SetTransaction("a", 1), SetTransaction("a", 2)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([DomainMetadata("a", "1"), DomainMetadata("a", "2")], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([Protocol(1, 2), Protocol(1, 2)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([AddFile("a", {"p": "1"}, 1, 1)], "DELTA_INVALID_PARTITIONING_SCHEMA"),
        ([AddFile("a", {}, 1, 1, deletion_vector=VECTOR)], "DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS"),
        (
            [AddFile("a", {}, 1, 1, deletion_vector=VECTOR, stats='{"numRecords":9}')],
            "DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED",
        ),
        ([Metadata("another id", SCHEMA)], "DELTA_METADATA_MISMATCH"),
    ],
)
def test_a_commit_that_contradicts_itself_or_the_table_is_refused(actions, error_class):
    builder = table(protocol=VECTORS)
    with pytest.raises(InvalidCommitError) as caught:
        begin(builder).commit(actions)
    assert caught.value.getErrorClass() == error_class
    assert builder.log().version() == 0


def test_one_file_may_leave_and_come_back_with_a_deletion_vector():
    builder = table(protocol=VECTORS).commit(add("a"))
    marked = AddFile("a", {}, 1, 1, deletion_vector=VECTOR, stats='{"numRecords":9,"tightBounds":false}')
    assert begin(builder).commit([RemoveFile("a"), marked]).version == 2
    assert builder.log().snapshot().files(["deletion_vector"])[0][0].as_py()["cardinality"] == 6


def with_timestamps():
    builder = TableBuilder(store=MemoryStore())
    made = Metadata("x", SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"})
    create = Transaction(builder.log(), None, "CREATE TABLE", clock=lambda: 1_500_000_000.0)
    create.commit([Protocol(1, 7, None, ("inCommitTimestamp",)), made])
    assert "delta.inCommitTimestampEnablementVersion" not in builder.log().snapshot().properties
    return builder


def test_in_commit_timestamps_come_first_and_only_ever_grow():
    builder = with_timestamps()
    clock = iter([1_900_000_000.0, 1_600_000_000.0, 1_600_000_000.0, 1_950_000_000.0])
    for name in "abcd":
        now = next(clock)
        begin(builder, clock=lambda now=now: now).commit([AddFile(name, {}, 1, 1)])
    infos = [committed(builder, version)[0]["commitInfo"] for version in range(1, 5)]
    assert all(next(iter(info)) == "inCommitTimestamp" for info in infos)
    stamps = [info["inCommitTimestamp"] for info in infos]
    assert stamps == [1_900_000_000_000, 1_900_000_000_001, 1_900_000_000_002, 1_950_000_000_000]
    assert [entry.timestamp for entry in builder.log().history(4)] == stamps[::-1]


def test_a_lost_race_moves_the_in_commit_timestamp_past_the_winners():
    builder = with_timestamps()
    transaction = begin(builder, clock=lambda: 1_600_000_000.0)
    begin(builder, clock=lambda: 1_900_000_000.0).commit([AddFile("theirs", {}, 1, 1)])
    transaction.commit([FILE])
    assert committed(builder, 2)[0]["commitInfo"]["inCommitTimestamp"] == 1_900_000_000_001


def test_enabling_in_commit_timestamps_notes_since_when_also_after_a_lost_race():
    builder = table()
    snapshot = builder.log().snapshot()
    transaction = begin(builder)
    begin(builder).commit([AddFile("theirs", {}, 1, 1)])
    enabled = replace(snapshot.metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    transaction.commit([Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp")), enabled])
    after = builder.log().snapshot()
    info = committed(builder, 2)[0]["commitInfo"]
    assert after.properties["delta.inCommitTimestampEnablementVersion"] == "2"
    assert after.properties["delta.inCommitTimestampEnablementTimestamp"] == str(info["inCommitTimestamp"])
    assert info["inCommitTimestamp"] > snapshot.timestamp
    assert after.timestamp == info["inCommitTimestamp"]


def test_parameters_are_plain_values_or_json_text():
    builder = table()
    transaction = begin(builder)
    given = {"mode": "ü", "flag": True, "number": 3, "none": None, "list": ["ü", "b"], "map": {"a": "b"}}
    transaction.describe(given)
    transaction.commit([FILE])
    shown = {**given, "list": '["ü","b"]', "map": '{"a":"b"}'}
    assert committed(builder, 1)[0]["commitInfo"]["operationParameters"] == shown


def test_a_version_may_be_empty_where_that_is_asked_for():
    builder = table()
    assert begin(builder).commit() == Unchanged(0, "empty")
    assert begin(builder).commit(may_be_empty=True) == Committed(1, 1)
    (only,) = committed(builder, 1)
    assert only["commitInfo"]["isolationLevel"] == "SnapshotIsolation"


TRACKING = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_id"}
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}


def identity(mark):
    column = {"name": "k", "type": "long", "nullable": True, "metadata": {**IDENTITY, "delta.identity.highWaterMark": mark}}
    return replace(Metadata("id", json.dumps({"type": "struct", "fields": [column]})), configuration={})


@pytest.mark.parametrize(
    ("before", "after", "tags"),
    [
        (Metadata("id", SCHEMA), Metadata("id", SCHEMA, configuration=TRACKING), {"rowTrackingEnablementOnly": "true"}),
        (Metadata("id", SCHEMA), Metadata("id", SCHEMA, configuration={**TRACKING, "mine": "x"}), {}),
        (Metadata("id", SCHEMA, configuration=TRACKING), Metadata("id", SCHEMA), {}),
        (identity(1), identity(5), {"delta.identity.schemaUpdate": "true"}),
        (identity(1), replace(identity(5), description="x"), {}),
        (identity(1), identity(1), {}),
    ],
)
def test_tags_say_how_little_a_commits_metadata_change(before, after, tags):
    assert metadata_tags(before, after) == tags


ICT_PROTOCOL = Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp"))
ICT = {"delta.enableInCommitTimestamps": "true"}


def set_properties(builder, configuration, *more):
    transaction = begin(builder)
    transaction.commit([*more, replace(transaction.snapshot.metadata, configuration=configuration)])
    return dict(builder.log().snapshot().properties)


def test_metadata_without_the_enablement_keep_those_of_the_table_while_timestamps_stay_on():
    builder = table()
    begin(builder).commit([FILE])
    first = set_properties(builder, ICT, ICT_PROTOCOL)
    assert first["delta.inCommitTimestampEnablementVersion"] == "2"
    assert set_properties(builder, {**ICT, "a": "b"}) == {**first, "a": "b"}
    assert set_properties(builder, {**first, "delta.inCommitTimestampEnablementVersion": "0"}) == first
    assert builder.log().history()[-1].timestamp
    off = set_properties(builder, {"delta.enableInCommitTimestamps": "false"})
    assert off == {"delta.enableInCommitTimestamps": "false"}
    assert set_properties(builder, ICT)["delta.inCommitTimestampEnablementVersion"] == "6"


def test_in_commit_timestamps_under_their_preview_names_are_obeyed():
    preview = Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp-preview"))
    builder = table()
    found = set_properties(builder, {"delta.enableInCommitTimestamps-preview": "true"}, preview)
    stamp = committed(builder, 1)[0]["commitInfo"]["inCommitTimestamp"]
    assert found["delta.inCommitTimestampEnablementVersion-preview"] == "1"
    assert found["delta.inCommitTimestampEnablementTimestamp-preview"] == str(stamp)
    begin(builder).commit([FILE])
    last = committed(builder, 2)[0]["commitInfo"]["inCommitTimestamp"]
    assert last > stamp
    builder.store.set_modification_time(file_names.commit_path(2), 5)
    assert [entry.timestamp for entry in builder.log().history(2)] == [last, stamp]
    assert builder.log().snapshot().timestamp == last


def test_attempts_are_bounded():
    builder = table()
    transaction = begin(builder, max_attempts=1)
    builder.commit()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_MAX_COMMIT_RETRIES_EXCEEDED"


def test_a_name_that_is_no_ascii_is_written_as_it_is(tmp_path):
    builder = TableBuilder(store=LocalStore(tmp_path)).create({"p": "string", "x": "long"}, partition_by=["p"])
    begin(builder).commit([AddFile("ü", {"p": "\n"}, 1, 1)])
    assert "ü".encode() in builder.store.read(file_names.commit_path(1))
    assert builder.log().snapshot().files(["partition_values"])[0][0].as_py() == [("p", "\n")]
