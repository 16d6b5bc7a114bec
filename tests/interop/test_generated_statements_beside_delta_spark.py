# SPDX-License-Identifier: Apache-2.0
"""Statements of Delta's own, put together by chance, on copies of one table: columns, rows, history and errors as delta-spark's."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.interop.test_statements_beside_delta_spark import asked, class_of, plain, said, table  # noqa: F401  (a fixture)
from tests.support.drawing import drawing

pytestmark = pytest.mark.oracle
EXAMPLES = drawing(0.2)

TABLE = st.sampled_from(["{t}", "DELTA.`{p}`", "delta . `{p}`", "delta.`{p}/`"])
TABLE_OR_PATH = st.one_of(TABLE, st.sampled_from(["'{p}'", '"{p}"']))
CONDITION = st.sampled_from(
    [
        *("p = 1", "(p = 1)", "p IS NULL", "p IN (0, 1) AND p <> 0", "P > cast('0' AS INT)", "p = 1 OR p IS NULL", "`p` <=> NULL"),
        *("id = 3", "nothing = 1", "p = 'x'"),
    ]
)
HOURS = st.sampled_from(["0", "1", "168", "169", "1.5", "240", "1000"])


def optional(*words: str) -> st.SearchStrategy[list[str]]:
    return st.sampled_from([[], list(words)])


@st.composite
def vacuum(draw):
    clauses = [draw(st.sampled_from([[], ["FULL"], ["LITE"]])), draw(optional("DRY", "RUN"))]
    clauses.append(draw(st.one_of(st.just([]), HOURS.map(lambda hours: ["RETAIN", hours, "HOURS"]))))
    again = draw(st.sampled_from([None] * 6 + [0, 1, 2]))
    clauses += [] if again is None else [clauses[again]]
    return ["VACUUM", draw(TABLE_OR_PATH), *(word for clause in draw(st.permutations(clauses)) for word in clause)]


@st.composite
def optimize(draw):
    columns = draw(st.sampled_from([[], ["id"], ["(id)"], ["(id, v)"], ["id, v"], ["p"], ["nothing"], ["(ID)"]]))
    where = draw(st.one_of(st.just([]), CONDITION.map(lambda text: ["WHERE", text])))
    return ["OPTIMIZE", draw(TABLE_OR_PATH), *where, *(["ZORDER", "BY", *columns] if columns else [])]


@st.composite
def reorg(draw):
    where = draw(st.one_of(st.just([]), CONDITION.map(lambda text: ["WHERE", text])))
    return ["REORG", "TABLE", draw(TABLE), *where, "APPLY", draw(st.sampled_from(["(PURGE)", "( PURGE )"]))]


@st.composite
def restore(draw):
    kind = draw(st.sampled_from(["VERSION", "SYSTEM_VERSION"]))
    when = [kind, "AS", "OF", draw(st.sampled_from(["0", "1", "3", "4", "99"]))]
    if draw(st.booleans()):
        when = ["TIMESTAMP", "AS", "OF", draw(st.sampled_from(["'2001-01-01'", "'2100-01-01 00:00:00'", "'no time'"]))]
    return ["RESTORE", *draw(optional("TABLE")), draw(TABLE), *draw(optional("TO")), *draw(optional("FOR")), *when]


@st.composite
def describe(draw):
    what, limit = draw(st.sampled_from(["HISTORY", "DETAIL"])), []
    if what == "HISTORY":
        limit = draw(st.sampled_from([[], ["LIMIT", "2"], ["LIMIT", "0"], ["LIMIT", "100"]]))
    return [draw(st.sampled_from(["DESCRIBE", "DESC"])), what, draw(TABLE_OR_PATH), *limit]


@st.composite
def others(draw):
    mode = draw(st.sampled_from(["symlink_format_manifest", "SYMLINK_FORMAT_MANIFEST", "other"]))
    feature = draw(st.sampled_from(["deletionVectors", "DELETIONVECTORS", "nothing", "appendOnly"]))
    version = draw(st.sampled_from([[], ["VERSION", "AS", "OF", "2"], ["VERSION", "AS", "OF", "99"]]))
    return draw(
        st.sampled_from(
            [
                ["GENERATE", mode, "FOR", "TABLE", draw(TABLE)],
                ["ALTER", "TABLE", draw(TABLE), "DROP", "FEATURE", feature],
                ["CREATE", "TABLE", "delta.`{p}.copy`", "SHALLOW", "CLONE", draw(TABLE), *version],
                ["CREATE", "OR", "REPLACE", "TABLE", "delta.`{p}.copy`", "SHALLOW", "CLONE", draw(TABLE), *version],
                ["CONVERT", "TO", "DELTA", draw(st.sampled_from(["{t}", "parquet.`{p}.nothing`"]))],
            ]
        )
    )


STATEMENTS = st.one_of(vacuum(), optimize(), reorg(), restore(), describe(), others())
BETWEEN = st.sampled_from([" ", " ", " ", "  ", "\n", "\t", " /* it's ; a -- comment */ ", " -- comment\n"])
IN_QUOTES = re.compile(r"[`'\"{]")


@st.composite
def spelled(draw, statements=STATEMENTS):
    """A statement in some spelling: the case of its words, and what stands between them."""
    words = draw(statements)
    cased = [word if IN_QUOTES.search(word) else draw(st.sampled_from([str, str.lower, str.title]))(word) for word in words]
    return "".join(word + draw(BETWEEN) for word in cased).rstrip(" ")


@given(text=spelled())
@settings(EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_generated_statement_does_what_delta_spark_does(spark, delta_spark, table, tmp_path_factory, text):  # noqa: F811
    compare(spark, delta_spark, table, tmp_path_factory.mktemp("generated"), text)


def compare(spark, delta_spark, table, folder, text):  # noqa: F811
    ours, theirs = (shutil.copytree(table, folder / name) for name in ("ours", "theirs"))
    wanted, refused = delta_spark.outcome(asked(text, theirs)), None
    try:
        frame = spark.sql(asked(text, ours))
        found = frame.collect()
    except Exception as error:  # noqa: BLE001  (whatever it is, delta-spark is asked for the same)
        refused = str(error)
    if refused is not None or "error" in wanted:
        event("refused")
        classes = class_of(wanted.get("error", "")), class_of(refused or "")
        assert classes[0] == classes[1], (text, wanted.get("error", "")[:300], (refused or "")[:300])
        return
    event(text.split()[0].upper())
    columns = [[field.name, field.dataType.simpleString(), field.nullable] for field in frame.schema]
    assert columns == wanted["columns"], text
    assert len(found) == len(wanted["rows"]), text
    if text.split()[0].upper() in ("OPTIMIZE", "REORG", "RESTORE", "ALTER"):
        assert said(ours) == said(theirs), text
    if text.split()[0].upper() not in ("OPTIMIZE", "REORG", "DESC", "DESCRIBE"):
        rows = [
            Counter(tuple(plain(value, root) for value in row) for row in those)
            for root, those in ((ours, found), (theirs, wanted["rows"]))
        ]
        assert rows[0] == rows[1], text
