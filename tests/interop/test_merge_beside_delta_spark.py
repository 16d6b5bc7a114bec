# SPDX-License-Identifier: Apache-2.0
"""The same MERGE by delta-spark and by bayou: the same rows, the same counts in the history, the same refusals."""

from __future__ import annotations

import pytest
from tests.interop.made_tables import MadeTables
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle

TABLE = (
    "select id, id % 3 k, if(id % 4 = 0, null, id * 2) v, named_struct('a', id, 'b', cast(id as string)) s, "
    "date_add(date'2024-01-01', cast(id as int)) day from range(0, 40, 1, 1)"
)
SOURCE = (
    "(select id, id % 3 k, -id v, named_struct('a', -id, 'b', 'new') s, date_add(date'2024-01-01', cast(id as int)) day "
    "from range(30, 50)) s"
)
TWICE = "(select id % 10 + 35 id, id n from range(20)) s"
STATEMENTS = {
    "upsert": f"{SOURCE} on t.id = s.id when matched then update set * when not matched then insert *",
    "upsert by partition": (f"{SOURCE} on t.k = s.k and t.id = s.id when matched then update set * when not matched then insert *"),
    "insert only": f"{SOURCE} on t.id = s.id when not matched then insert *",
    "insert some columns": (f"{SOURCE} on t.id = s.id when not matched and s.id > 44 then insert (id, day) values (s.id, s.day)"),
    "delete only": f"{SOURCE} on t.id = s.id when matched then delete",
    "delete some": f"{SOURCE} on t.id = s.id when matched and t.v is null then delete",
    "update some": f"{SOURCE} on t.id = s.id when matched and s.id < 35 then update set v = t.v + s.v",
    "set a field": f"{SOURCE} on t.id = s.id when matched then update set s.b = 'x', day = '2020-02-02'",
    "several clauses": (
        f"{SOURCE} on t.id = s.id when matched and t.id % 2 = 0 then delete when matched and t.id = 33 then update set * "
        "when matched and t.id = 35 then update set v = 0 when not matched and s.id = 40 then insert (id) values (-1) "
        "when not matched and s.id > 45 then insert *"
    ),
    "not matched by source": (
        f"{SOURCE} on t.id = s.id when matched then update set v = 1 when not matched then insert * "
        "when not matched by source and t.id < 5 then delete when not matched by source and t.id < 9 then update set v = 9"
    ),
    "not matched by source alone": f"{SOURCE} on t.id = s.id when not matched by source then delete",
    "a source that is empty": "(select 1L id where false) s on t.id = s.id when matched then delete",
    "a source without matches": "(select 1000L id) s on t.id = s.id when matched then delete",
    "nothing equal": f"{SOURCE} on t.id > s.id and s.id = 38 when matched then update set v = 7",
    "NULL keys": "(select cast(null as bigint) v, 5L id union all select 2L, 6L) s on t.v <=> s.v when matched then delete",
    "several matches that delete": f"{TWICE} on t.id = s.id when matched then delete",
    "move to another partition": f"{SOURCE} on t.id = s.id when matched then update set k = 77",
    "a row in the text that matches and does not fit": (
        "(select 35L id, 'no' v union all select 100L, '7') s on t.id = s.id when not matched then insert (id, v) values (id, v)"
    ),
}
REFUSED = {
    "several matches": f"{TWICE} on t.id = s.id when matched then update set v = s.n",
    "a subquery": f"{SOURCE} on t.id = s.id and exists (select 1) when matched then delete",
    "an early clause without a condition": (
        f"{SOURCE} on t.id = s.id when matched then delete when matched and s.id = 1 then delete"
    ),
    "a column twice": f"{SOURCE} on t.id = s.id when matched then update set v = 1, v = 2",
    "an aggregate": f"{SOURCE} on t.id = s.id and max(s.v) = 1 when matched then delete",
    "an aggregate in a clause": f"{SOURCE} on t.id = s.id when matched and count(*) = 1 then delete",
    "an aggregate as a value": f"{SOURCE} on t.id = s.id when matched then update set v = max(s.v)",
    "a window": f"{SOURCE} on t.id = s.id and row_number() over (order by s.v) = 1 when matched then delete",
    "a window in a clause": f"{SOURCE} on t.id = s.id when matched and row_number() over (order by s.v) = 1 then delete",
    "a window as a value": f"{SOURCE} on t.id = s.id when matched then update set v = row_number() over (order by s.v)",
    "a generator as a value": f"{SOURCE} on t.id = s.id when matched then update set v = explode(array(1L))",
    "a number for a search": f"{SOURCE} on t.id + s.id when matched then delete",
}
OTHERWISE = {"numTargetFilesAdded", "numTargetBytesAdded", "numTargetBytesRemoved", "numTargetChangeFilesAdded"}
"""Sizes, and how many files rows are put into, are each engine's own matter."""


def counts(entry):
    return {key: value for key, value in entry.operation_metrics.items() if not key.endswith("TimeMs") and key not in OTHERWISE}


def last(path):
    return next(iter(bayou.open(str(path)).history()))


@pytest.fixture(scope="module")
def made(delta_spark, tmp_path_factory):
    return MadeTables(delta_spark, tmp_path_factory.mktemp("made"), TABLE)


KINDS = [("partitioned", "files"), ("partitioned", "vectors"), ("plain", "files")]


@pytest.mark.parametrize("case", sampled([(name, *kind) for name in STATEMENTS for kind in KINDS], 13), ids="-".join)
def test_both_make_the_same_rows_and_count_the_same(delta_spark, spark, made, tmp_path, case):
    name, kind, way = case
    theirs, ours = made.copies(tmp_path, kind, way)
    affected = delta_spark.sql(f"merge into delta.`{theirs}` t using {STATEMENTS[name]}")
    before = bayou.open(str(ours)).version()
    spark.sql(f"merge into delta.`{ours}` t using {STATEMENTS[name]}")
    query = "select '{1}', to_json(struct(*)) from delta.`{0}`"
    found = delta_spark.sql(f"{query.format(theirs, 'theirs')} union all {query.format(ours, 'ours')}")
    expected = sorted(row for table, row in found if table == "theirs")
    assert sorted(row for table, row in found if table == "ours") == expected
    assert sorted(row[1] for row in spark.sql(query.format(ours, "")).collect()) == expected
    mine, other = last(ours), last(theirs)
    assert mine.version == other.version
    if mine.version > before:
        assert (mine.operation, mine.operation_parameters.keys()) == (other.operation, other.operation_parameters.keys())
        assert counts(mine) == counts(other)
        metrics = mine.operation_metrics
        numbers = [metrics[f"numTargetRows{each}"] for each in ("Updated", "Deleted", "Inserted")]
        assert [[str(sum(map(int, numbers))), *numbers]] == affected
    bayou.open(str(ours)).verify_checksum()


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse_the_same(delta_spark, spark, made, tmp_path, name):
    theirs, ours = made.copies(tmp_path, "plain", "files")
    said = delta_spark.refused(f"merge into delta.`{theirs}` t using {REFUSED[name]}")
    with pytest.raises(Exception) as error:
        spark.sql(f"merge into delta.`{ours}` t using {REFUSED[name]}")
    found = str(getattr(error.value, "error_class", None) or error.value.getCondition())
    assert found in said, (found, said[:300])
    assert last(ours).version == last(theirs).version == 0


def test_only_matches_that_change_a_row_make_it_ambiguous_for_bayou_and_any_for_delta_spark(delta_spark, spark, made, tmp_path):
    theirs, ours = made.copies(tmp_path, "plain", "files")
    statement = f"{TWICE} on t.id = s.id when matched and s.n < 10 then update set v = s.n"
    assert "DELTA_MULTIPLE_SOURCE_ROW" in delta_spark.refused(f"merge into delta.`{theirs}` t using {statement}")
    spark.sql(f"merge into delta.`{ours}` t using {statement}")
    found = {row.id: row.v for row in spark.sql(f"select id, v from delta.`{ours}` where id >= 35").collect()}
    assert found == {35: 0, 36: 1, 37: 2, 38: 3, 39: 4}
