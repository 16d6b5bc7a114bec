# SPDX-License-Identifier: Apache-2.0
"""Bad input to a table without rules: the error class of each, and the change."""

from __future__ import annotations

from tests.spark.dml.core.requested_changes import ONE, builder, merged, saved

from bayou import IdentityGenerator

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
"""Error classes and changes, by what is wrong."""
