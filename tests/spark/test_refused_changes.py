# SPDX-License-Identifier: Apache-2.0
"""Bad input to what changes a table: each is refused by its error class, and neither the log nor a file tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import bayou
from bayou import DeltaTable, IdentityGenerator
from bayou.errors import DeltaError

TABLES = {
    "plain": ("id bigint, v string, s struct<a: int>, m map<string, int>, l array<int>, p int", "partitioned by (p)", {}),
    "ruled": ("id bigint not null, v varchar(3), n int", "", {"delta.constraints.positive": "id > 0"}),
    "strict": ("id bigint, v string not null, s struct<a: int not null>", "", {}),
    "structs": ("id bigint, s struct<a: int not null, b: int>, m map<string, struct<a: int, b: int>>", "", {}),
    "mapped": ("id bigint, v string, p int", "partitioned by (p)", {"delta.columnMapping.mode": "name"}),
    "clustered": ("id bigint, v string", "cluster by (v)", {"delta.columnMapping.mode": "name"}),
    "append only": ("id bigint, v string", "", {"delta.appendOnly": "true"}),
    "generated": ("id bigint, g bigint generated always as (id + 1), k bigint generated always as identity", "", {}),
    "change feed": ("id bigint, v string", "", {"delta.enableChangeDataFeed": "true"}),
}


@pytest.fixture(scope="module")
def paths(spark, tmp_path_factory):
    """Tables that no test changes."""
    found = {}
    for kind, (columns, layout, properties) in TABLES.items():
        path = found[kind] = str(tmp_path_factory.mktemp("refused") / "table")
        spark.sql(f"create table delta.`{path}` ({columns}) using delta {layout}")
        table = DeltaTable.forPath(spark, path)
        for name, value in properties.items():
            if name.startswith("delta.constraints."):
                table.addConstraint(name.rpartition(".")[2], value)
            else:
                table.setProperties({name: value})
    rows = {
        "plain": "1, 'a', struct(1), map('k', 1), array(1), 1), (2, null, null, null, null, null",
        "ruled": "1, 'a', null",
        "strict": "1, 'a', struct(1)",
        "mapped": "1, 'a', 1",
        "clustered": "1, 'a'",
        "append only": "1, 'a'",
        "change feed": "1, 'a'",
    }
    for kind, values in rows.items():
        spark.sql(f"insert into delta.`{found[kind]}` values ({values})")
    spark.sql(f"insert into delta.`{found['generated']}` (id) values (1)")
    return found


def saved(query, mode="append", partition_by=(), **options):
    """A query's rows, saved into the table."""

    def save(table):
        frame = table.toDF().sparkSession.sql(query)
        bayou.write(frame, table._path, mode=mode, partition_by=list(partition_by), **options)

    return save


def appended(query):
    """A query's rows, appended to the table by its name."""
    return lambda table: table.toDF().sparkSession.sql(query).writeTo(f"delta.`{table._path}`").append()


def merged(source, *clauses, on="t.id = s.id"):
    return f"merge into {{t}} t using ({source}) s on {on} {' '.join(clauses)}"


ONE = "select 1L id"
PLAIN = {
    # what Spark says of a row's file
    "file in a delete": ("DELTA_CANNOT_RESOLVE_COLUMN", "delete from {t} where _metadata.file_size > 0"),
    "file in a merge": (
        "DELTA_CANNOT_RESOLVE_COLUMN",
        merged(ONE, "when matched then update set v = 'x'", on="t.id = s.id and t._metadata.file_size > 0"),
    ),
    # write mismatch
    "another column": ("DELTA_METADATA_MISMATCH", saved("select 1L id, 1 other")),
    "other partitions": ("DELTA_METADATA_MISMATCH", saved("select 1L id, 1 p", partition_by=["id"])),
    "overwrite with another column": ("DELTA_METADATA_MISMATCH", saved("select 1L id, 1 other", "overwrite")),
    "another type": ("DELTA_FAILED_TO_MERGE_FIELDS", saved("select array(1) id")),
    "another type, merged": ("DELTA_FAILED_TO_MERGE_FIELDS", saved("select array(1) id", mergeSchema="true")),
    "another field": ("DELTA_METADATA_MISMATCH", saved("select 1L id, struct(1 a, 2 b) s")),
    "too few values": ("DELTA_INSERT_COLUMN_ARITY_MISMATCH", "insert into {t} values (1)"),
    "too many values": ("DELTA_METADATA_MISMATCH", "insert into {t} values (1, 'a', null, null, null, 1, 2)"),
    "an unknown column in INSERT": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "insert into {t} (id, other) values (1, 2)"),
    "a column twice in INSERT": ("COLUMN_ALREADY_EXISTS", "insert into {t} (id, ID) values (1, 2)"),
    "overflow": ("CAST_OVERFLOW_IN_TABLE_INSERT", "insert into {t} values (1, 'a', null, null, null, 5000000000)"),
    "no number": ("CAST_INVALID_INPUT", "insert into {t} values ('x', 'a', null, null, null, 1)"),
    "overflow of a partition, saved": ("DELTA_FAILED_TO_MERGE_FIELDS", saved("select 1L id, 5000000000 p")),
    "a column twice": ("DELTA_DUPLICATE_COLUMNS_FOUND.DATA", saved("select 1L id, 'a' v, 'b' V")),
    "a field twice": ("DELTA_DUPLICATE_COLUMNS_FOUND.DATA", saved("select 1L id, struct(1 a, 2 A) s", mergeSchema="true")),
    "characters": ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", saved("select 1L id, 1 p, 1 `a b`", mergeSchema="true")),
    "an interval": ("DELTA_UNSUPPORTED_DATA_TYPES", saved("select 1L id, 1 p, interval 1 day i", mergeSchema="true")),
    # options
    "replaceWhere beside": ("DELTA_REPLACE_WHERE_MISMATCH", saved("select 1L id, 2 p", "overwrite", replaceWhere="p = 1")),
    "replaceWhere of nothing": (
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        saved("select 1L id, 2 p", "overwrite", replaceWhere="other = 1"),
    ),
    "replaceWhere that is none": ("DELTA_FAILED_RECOGNIZE_PREDICATE", saved("select 1L id, 2 p", "overwrite", replaceWhere="p =")),
    "replaceWhere and dynamic": (
        "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE",
        saved("select 1L id, 1 p", "overwrite", replaceWhere="p = 1", partitionOverwriteMode="dynamic"),
    ),
    "another schema and dynamic": (
        "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE",
        saved("select 1L id, 1 p", "overwrite", overwriteSchema="true", partitionOverwriteMode="dynamic"),
    ),
    "no mode": ("DELTA_ILLEGAL_OPTION", saved("select 1L id, 1 p", "overwrite", partitionOverwriteMode="some")),
    "no boolean": ("DELTA_ILLEGAL_OPTION", saved(ONE, mergeSchema="perhaps")),
    "a batch without a number": ("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS", saved(ONE, txnAppId="a")),
    "there already": ("DELTA_PATH_EXISTS", saved(ONE, "error")),
    # rows
    "DELETE of an unknown column": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "delete from {t} where other = 1"),
    "DELETE by no condition": ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", lambda table: table.delete("id")),
    "DELETE by a subquery": ("DELTA_UNSUPPORTED_SUBQUERY", lambda table: table.delete("id in (select 1)")),
    "DELETE by chance": ("INVALID_NON_DETERMINISTIC_EXPRESSIONS", "delete from {t} where rand() > 0.5"),
    "UPDATE of an unknown column": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "update {t} set other = 1"),
    "UPDATE twice": ("DELTA_CONFLICT_SET_COLUMN", "update {t} set id = 1, ID = 2"),
    "UPDATE of a struct and its field": ("DELTA_CONFLICT_SET_COLUMN", "update {t} set s = null, s.a = 2"),
    "UPDATE of a map's value": ("DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE", "update {t} set m.k = 1"),
    "UPDATE of what is in an array": ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "update {t} set l.element = 1"),
    "UPDATE to another type": ("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "update {t} set id = array(1)"),
    "UPDATE to an aggregate": ("UNSUPPORTED_EXPR_FOR_OPERATOR", "update {t} set id = max(id)"),
    "MERGE of several rows": (
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        merged("select 1L id union all select 1L", "when matched then update set v = 'x'"),
    ),
    "MERGE of an unknown column": ("DELTA_MERGE_UNRESOLVED_EXPRESSION", merged(ONE, "when matched then update set other = 1")),
    "MERGE on an unknown column": (
        "DELTA_MERGE_UNRESOLVED_EXPRESSION",
        merged(ONE, "when matched then delete", on="t.other = s.id"),
    ),
    "MERGE without clauses": ("DELTA_MERGE_MISSING_WHEN", lambda table: table.merge(table.toDF(), "true").execute()),
    "MERGE with a clause too many": (
        "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
        lambda table: (
            table.alias("t").merge(table.toDF().alias("s"), "t.id = s.id").whenMatchedDelete().whenMatchedUpdateAll().execute()
        ),
    ),
    "MERGE that inserts twice": (
        "DELTA_DUPLICATE_COLUMNS_ON_INSERT",
        merged(ONE, "when not matched then insert (id, id) values (1, 2)"),
    ),
    "MERGE that sets twice": ("DELTA_CONFLICT_SET_COLUMN", merged(ONE, "when matched then update set v = 'x', v = 'y'")),
    "MERGE by chance": (
        "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED",
        merged(ONE, "when matched then delete", on="t.id = s.id and rand() > 0.5"),
    ),
    "MERGE by a subquery": ("DELTA_UNSUPPORTED_SUBQUERY", merged(ONE, "when matched then delete", on="t.id in (select 1)")),
    "MERGE by an aggregate": ("DELTA_AGGREGATION_NOT_SUPPORTED", merged(ONE, "when matched then delete", on="max(t.id) = s.id")),
    "MERGE of everything from too few columns": (
        "DELTA_MERGE_UNRESOLVED_EXPRESSION",
        merged(ONE, "when matched then update set *"),
    ),
    # properties and protocol
    "an unknown property": ("DELTA_UNKNOWN_CONFIGURATION", "alter table {t} set tblproperties ('delta.unknown' = '1')"),
    "no value": ("DELTA_ILLEGAL_OPTION", "alter table {t} set tblproperties ('delta.checkpointInterval' = 'often')"),
    "a constraint as a property": (
        "DELTA_ADD_CONSTRAINTS",
        "alter table {t} set tblproperties ('delta.constraints.a' = 'id > 0')",
    ),
    "a property that is not there": ("UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY", "alter table {t} unset tblproperties ('owner')"),
    "an unknown feature": (
        "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
        "alter table {t} set tblproperties ('delta.feature.unknown' = 'supported')",
    ),
    "no status": (
        "DELTA_UNSUPPORTED_FEATURE_STATUS",
        "alter table {t} set tblproperties ('delta.feature.deletionVectors' = 'perhaps')",
    ),
    "no protocol": ("DELTA_ILLEGAL_OPTION", lambda table: table.upgradeTableProtocol(9, 9)),
    "a feature that is not there": (
        "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
        lambda table: table.dropFeatureSupport("deletionVectors"),
    ),
    "a feature that nobody knows": (
        "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
        lambda table: table.dropFeatureSupport("unknown"),
    ),
    # constraints
    "a rule that rows break": ("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", lambda table: table.addConstraint("a", "id > 1")),
    "a rule that is no condition": ("DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", lambda table: table.addConstraint("a", "id + 1")),
    "a rule of nothing": ("DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES", lambda table: table.addConstraint("a", "other > 1")),
    "a rule that is not there": ("DELTA_CONSTRAINT_DOES_NOT_EXIST", lambda table: table.dropConstraint("a")),
    "NOT NULL over NULL": ("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", lambda table: table.changeColumn("v", nullable=False)),
    # columns
    "a new column that is there": ("FIELD_ALREADY_EXISTS", "alter table {t} add columns (V string)"),
    "a new column with a default": (
        "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        "alter table {t} add columns (w int default 7)",
    ),
    "a default": ("WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED", "alter table {t} alter column v set default 'x'"),
    "a new column of a strange name": ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "alter table {t} add columns (`a b` string)"),
    "a new column in a map": ("INVALID_FIELD_NAME", "alter table {t} add columns (m.k int)"),
    "a new column behind nothing": ("FIELD_NOT_FOUND", "alter table {t} add columns (w int after other)"),
    "a new name without mapping": ("DELTA_UNSUPPORTED_RENAME_COLUMN", "alter table {t} rename column v to w"),
    "a dropped column without mapping": ("DELTA_UNSUPPORTED_DROP_COLUMN", "alter table {t} drop column v"),
    "a narrower type": ("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", lambda table: table.changeColumn("id", dataType="int")),
    "a change of nothing": ("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", lambda table: table.changeColumn("other", comment="x")),
    "a change of a struct": (
        "DELTA_CANNOT_UPDATE_STRUCT_FIELD",
        lambda table: table.changeColumn("s", dataType="struct<a: bigint>"),
    ),
    "other columns": ("DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP", lambda table: table.replaceColumns("id string")),
    "another mapping": (
        "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'id')",
    ),
    # create
    "a table that is there": (
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        lambda table: builder(table, "create").addColumn("id", "bigint").execute(),
    ),
    "another schema": ("TABLE_OR_VIEW_ALREADY_EXISTS", "create table delta.`{p}` (id string) using delta"),
    "a strange partition column": (
        "DELTA_PARTITION_COLUMN_NOT_FOUND",
        lambda table: builder(table, "replace").addColumn("id", "bigint").partitionedBy("other").execute(),
    ),
    "partitions by all": (
        "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION",
        lambda table: builder(table, "replace").addColumn("id", "bigint").partitionedBy("id").execute(),
    ),
    "partitions by a map": (
        "DELTA_INVALID_PARTITION_COLUMN_TYPE",
        lambda table: (
            builder(table, "replace").addColumn("id", "bigint").addColumn("m", "map<int, int>").partitionedBy("m").execute()
        ),
    ),
    "UDF": (
        "DELTA_UDF_IN_GENERATED_COLUMN",
        lambda table: (
            builder(table, "replace").addColumn("id", "bigint").addColumn("g", "bigint", generatedAlwaysAs="nobody(id)").execute()
        ),
    ),
    "chance": (
        "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN",
        lambda table: (
            builder(table, "replace").addColumn("id", "bigint").addColumn("g", "double", generatedAlwaysAs="rand()").execute()
        ),
    ),
    "aggregate": (
        "DELTA_AGGREGATE_IN_GENERATED_COLUMN",
        lambda table: (
            builder(table, "replace").addColumn("id", "bigint").addColumn("g", "bigint", generatedAlwaysAs="max(id)").execute()
        ),
    ),
    "reference": (
        "DELTA_INVALID_GENERATED_COLUMN_REFERENCES",
        lambda table: (
            builder(table, "replace").addColumn("id", "bigint").addColumn("g", "bigint", generatedAlwaysAs="other").execute()
        ),
    ),
    "type": (
        "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
        lambda table: (
            builder(table, "replace")
            .addColumn("id", "bigint")
            .addColumn("g", "int", generatedAlwaysAs="cast(id as string)")
            .execute()
        ),
    ),
    "identity type": (
        "DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",
        lambda table: builder(table, "replace").addColumn("k", "int", generatedAlwaysAs=IdentityGenerator()).execute(),
    ),
    "identity partition": (
        "DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED",
        lambda table: (
            builder(table, "replace")
            .addColumn("id", "bigint")
            .addColumn("k", "bigint", generatedAlwaysAs=IdentityGenerator())
            .partitionedBy("k")
            .execute()
        ),
    ),
}


def builder(table, how):
    return getattr(DeltaTable, how)(table.toDF().sparkSession).location(table._path)


OTHERS = {
    ("ruled", "NULL"): ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "insert into {t} values (null, 'a', 1)"),
    ("ruled", "no column"): ("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", saved("select 'a' v")),
    ("ruled", "a broken rule"): ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "insert into {t} values (-1, 'a', 1)"),
    ("ruled", "UPDATE that breaks a rule"): ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "update {t} set id = -1"),
    ("ruled", "MERGE that breaks a rule"): (
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        merged(ONE, "when matched then update set id = -1"),
    ),
    ("ruled", "too long"): ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", saved("select 1L id, 'abcd' v")),
    ("ruled", "too long in SQL"): ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "insert into {t} values (1, 'abcd', 1)"),
    ("ruled", "UPDATE that is too long"): ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "update {t} set v = 'abcd'"),
    ("ruled", "a rule twice"): ("DELTA_CONSTRAINT_ALREADY_EXISTS", lambda table: table.addConstraint("Positive", "id > 0")),
    ("ruled", "a column of a rule"): (
        "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        lambda table: table.changeColumn("id", dataType="string"),
    ),
    ("strict", "NULL"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "insert into {t} values (2, null, null)"),
    ("strict", "UPDATE to NULL"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "update {t} set v = null"),
    ("strict", "UPDATE to NULL by a method"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", lambda table: table.update(set={"v": "null"})),
    ("strict", "UPDATE to NULL of a field"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "update {t} set s.a = null"),
    ("strict", "MERGE to NULL"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", merged(ONE, "when matched then update set v = null")),
    ("strict", "MERGE of NULL"): (
        "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
        merged("select 2L id", "when not matched then insert (id, v) values (s.id, null)"),
    ),
    ("structs", "no struct"): ("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", saved("select 1L id")),
    ("structs", "no struct, by the table's name"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", appended("select 1L id")),
    ("structs", "no field"): ("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", saved("select 1L id, named_struct('b', 1) s")),
    ("structs", "no field, and no row"): (
        "DELTA_MISSING_NOT_NULL_COLUMN_VALUE",
        saved("select 1L id, named_struct('b', 1) s where false"),
    ),
    ("structs", "too few fields"): (
        "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
        "insert into {t} select 1L, named_struct('a', 1), null",
    ),
    ("structs", "too few fields by name"): (
        "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
        "insert into {t} by name select 1L id, named_struct('b', 1) s",
    ),
    ("structs", "too few fields in a map"): (
        "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
        "insert into {t} (m) select map('x', named_struct('a', 1))",
    ),
    ("structs", "left out"): ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "insert into {t} (id) values (1)"),
    ("mapped", "a column of the partitions"): ("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", "alter table {t} drop column p"),
    ("mapped", "no column"): ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "alter table {t} drop column other"),
    ("mapped", "no column to rename"): ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "alter table {t} rename column other to w"),
    ("mapped", "a name that is there"): ("FIELD_ALREADY_EXISTS", "alter table {t} rename column id to V"),
    ("mapped", "the last column"): ("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", lambda table: table.dropColumns("id", "v")),
    ("mapped", "another mapping"): (
        "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'id')",
    ),
    ("clustered", "a clustering column"): ("DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", "alter table {t} drop column v"),
    ("clustered", "partitions"): ("DELTA_METADATA_MISMATCH", saved("select 1L id, 'a' v", partition_by=["v"])),
    ("clustered", "no clustering column"): ("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "alter table {t} cluster by (other)"),
    ("append only", "DELETE"): ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "delete from {t} where id = 1"),
    ("append only", "UPDATE"): ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "update {t} set id = 2"),
    ("append only", "MERGE"): ("DELTA_CANNOT_MODIFY_APPEND_ONLY", merged(ONE, "when matched then delete")),
    ("append only", "overwrite"): ("DELTA_CANNOT_MODIFY_APPEND_ONLY", saved("select 1L id, 'a' v", "overwrite")),
    ("append only", "TRUNCATE"): ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "truncate table {t}"),
    ("generated", "another value"): ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "insert into {t} (id, g) values (1, 7)"),
    ("generated", "an explicit identity"): (
        "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
        "insert into {t} (id, k) values (1, 7)",
    ),
    ("generated", "UPDATE of an identity"): ("DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED", "update {t} set k = 7"),
    ("generated", "a type that others depend on"): (
        "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        lambda table: table.changeColumn("id", dataType="decimal(30, 0)"),
    ),
    ("generated", "a type of an identity"): (
        "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        lambda table: table.changeColumn("k", dataType="decimal(30, 0)"),
    ),
    ("change feed", "a reserved column"): (
        "RESERVED_CDC_COLUMNS_ON_WRITE",
        saved("select 1L id, 'x' _change_type", mergeSchema="true"),
    ),
}
CASES = {("plain", name): case for name, case in PLAIN.items()} | OTHERS


def files(path):
    return {str(file): file.stat().st_mtime_ns for file in Path(path).rglob("*") if file.is_file()}


def condition(error):
    return error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()


@pytest.mark.parametrize("case", CASES, ids=": ".join)
def test_bad_input_is_refused_by_its_class_and_writes_nothing(spark, paths, case):
    path = paths[case[0]]
    expected, change = CASES[case]
    before = files(path)
    with pytest.raises((DeltaError, PySparkException)) as caught:
        spark.sql(change.format(t=f"delta.`{path}`", p=path)) if isinstance(change, str) else change(
            DeltaTable.forPath(spark, path)
        )
    assert condition(caught.value) == expected
    assert files(path) == before


@pytest.mark.parametrize(
    ("value", "error_class"),
    [
        ("s = named_struct('a', 1)", "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"),
        ("k = array(1)", "DATATYPE_MISMATCH"),
        ("k = 'x'", "CAST_INVALID_INPUT"),
        ("s = 5", "DATATYPE_MISMATCH"),
        ("k = 5000000000", "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"),
    ],
)
def test_a_value_that_no_row_can_have_is_refused_where_no_row_is_meant(spark, table_path, value, error_class):
    table = f"delta.`{table_path}`"
    spark.sql(f"create table {table} (k int, s struct<a: int, b: string>) using delta")
    spark.sql(f"insert into {table} (k) values (1)")
    statements = [
        f"update {table} set {value} where k = 100",
        f"update {table} set {value} where false",
        f"update {table} set {value} where length(cast(k as string)) = 9",
        f"merge into {table} using (select 100 id) on k = id when matched then update set {value}",
        f"merge into {table} using (select 1 id) on k = id when matched and id = 7 then update set {value}",
    ]
    for statement in statements:
        with pytest.raises(PySparkException, match=error_class):
            spark.sql(statement)
    assert bayou.open(table_path).version() == 1


COMPUTED = {
    "another value": "SELECT id + 1 AS id, v FROM {}",
    "exchanged": "SELECT v AS id, id AS v FROM {}",
    "another text": "SELECT id, upper(v) AS v FROM {}",
    "a constant": "SELECT 3 AS id, v FROM {}",
    "some rows": "SELECT * FROM {} WHERE id > 1",
}
ON_VIEWS = (
    "DELETE FROM {} WHERE id = 3",
    "UPDATE {} SET v = 'x' WHERE id = 3",
    "MERGE INTO {} t USING (SELECT 3 i) s ON t.id = s.i WHEN MATCHED THEN DELETE",
)


@pytest.mark.parametrize("statement", ON_VIEWS, ids=["delete", "update", "merge"])
@pytest.mark.parametrize("view", COMPUTED)
@pytest.mark.parametrize("is_cached", [False, True], ids=["", "cached"])
def test_a_view_whose_columns_are_not_the_tables_is_refused_though_they_are_called_so(
    spark, table_path, statement, view, is_cached
):
    """What the condition says of the view's columns would be asked of the table's."""
    bayou.write(spark.sql("select * from values ('1', 'a'), ('2', 'b'), ('3', 'c') t(id, v)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW computed AS {COMPUTED[view].format(f'delta.`{table_path}`')}")
    if is_cached:
        spark.catalog.cacheTable("computed")
    try:
        with pytest.raises(PySparkException):
            spark.sql(statement.format("computed"))
    finally:
        spark.sql("UNCACHE TABLE IF EXISTS computed")
        spark.catalog.dropTempView("computed")
    assert sorted(tuple(row) for row in bayou.read(spark, table_path).collect()) == [("1", "a"), ("2", "b"), ("3", "c")]


def test_a_view_that_leaves_each_column_as_it_is_is_its_table(spark, table_path):
    bayou.write(spark.sql("select * from values (1, 'a'), (2, 'b') t(id, v)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW plain AS SELECT id AS id, v FROM delta.`{table_path}`")
    spark.sql("UPDATE plain SET v = 'x' WHERE id = 1")
    spark.sql("DELETE FROM plain WHERE id = 2")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(1, "x")]
    spark.catalog.dropTempView("plain")


@pytest.mark.parametrize("statement", ON_VIEWS, ids=["delete", "update", "merge"])
def test_the_change_feed_of_a_table_is_not_its_rows(spark, table_path, statement):
    """What the condition says of rows of the feed would be asked of the table's."""
    bayou.write(spark.sql("select * from values ('3', 'c') t(id, v)"), table_path, **{"delta.enableChangeDataFeed": "true"})
    bayou.read(spark, table_path, changes=(0, None)).createOrReplaceTempView("fed")
    try:
        with pytest.raises(PySparkException, match="DELTA_OPERATION_NOT_ALLOWED"):
            spark.sql(statement.format("fed"))
    finally:
        spark.catalog.dropTempView("fed")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [("3", "c")]
