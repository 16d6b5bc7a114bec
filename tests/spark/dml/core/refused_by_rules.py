# SPDX-License-Identifier: Apache-2.0
"""Tables with rules and features, and bad input to each: its error class, and the change."""

from __future__ import annotations

from tests.spark.dml.core.requested_changes import ONE, appended, merged, saved

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
"""The columns, the layout and the properties of each kind of table."""

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
"""Error classes and changes, by the kind of table and what is wrong."""
