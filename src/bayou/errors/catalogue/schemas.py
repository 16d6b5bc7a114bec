# SPDX-License-Identifier: Apache-2.0
"""The errors of schemas: what a table can have, and what may change into what."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
DELTA_SCHEMA_NOT_SET InvalidSchemaError
    The schema string of the table is not valid: {reason}.
    Next: Check the schemaString of the table's last metaData action.
DELTA_SCHEMA_NOT_SET/no-json InvalidSchemaError
    The metadata of a column holds a value that has no JSON: {reason}.
    Next: Give strings, numbers, booleans, None, and lists and dictionaries of these.
DELTA_SCHEMA_NOT_SET/declared-type InvalidSchemaError
    The declared type {type!r} in the metadata of a column ({key}) cannot be understood.
    Next: Check the schemaString of the table's last metaData action.
DELTA_SCHEMA_NOT_SET/part InvalidSchemaError
    {part} is {given}, but must be {wanted}.
    Next: Correct that part of the schema.
DELTA_SCHEMA_NOT_SET/metadata InvalidSchemaError
    The metadata of column {column!r} cannot be kept: {reason}.
    Next: Correct that part of the schema.
DELTA_EMPTY_DATA InvalidSchemaError
    A table needs at least one column.
DELTA_EMPTY_DATA/no-columns InvalidSchemaError
    Data used in creating or writing the Delta table doesn't have any columns with values: the rows have no columns.
    Next: Select the columns that the table has.
DELTA_EMPTY_DATA/void InvalidSchemaError
    Data used in creating or writing the Delta table doesn't have any columns with values: all values are NULL without a type.
    Next: Cast NULL to the type of its column.
DELTA_DUPLICATE_COLUMNS_FOUND InvalidSchemaError
    Column names are not case-sensitive, and these occur more than once: {columns}.
    Next: Rename or leave out all but one of each.
DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE InvalidSchemaError
    Column names are not case-sensitive, and the table has these more than once: {names}.
    Next: Rename or drop all but one of each with the engine that created the table, then write to it.
DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES InvalidSchemaError
    Found invalid character(s) among {characters!r} in the column names: {columns!r}.
    Next: Rename the columns, or set delta.columnMapping.mode to name.
DELTA_INVALID_PARTITION_COLUMN_NAME InvalidSchemaError
    Found partition columns having invalid character(s) among {characters!r}: {columns!r}.
    Next: Rename the columns, or set delta.columnMapping.mode to name.
DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED InvalidSchemaError
    Column names that begin with {prefix} are reserved, so the column {columns[0]!r} cannot be added.
    Next: Give the column another name.
DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/feed InvalidSchemaError
    A new column of another type than STRING cannot be called {columns}, because data files that were written while the table had a
    change data feed hold a string column of that name.
    Next: Give the column another name, or the type STRING.
RESERVED_CDC_COLUMNS_ON_WRITE InvalidSchemaError
    The columns [{reserved}] have names that are reserved for the table's change data feed.
    Next: Rename or drop these columns, or set delta.enableChangeDataFeed to false.
RESERVED_CDC_COLUMNS_ON_WRITE/in-files InvalidSchemaError
    The columns [{reserved}] have names that are reserved for the table's change data feed, and that data files use.
    Next: Give a new column another name, or drop an existing one and add it again under another name, which needs
    delta.columnMapping.mode = name and, until it is done, delta.enableChangeDataFeed = false.
DELTA_OPERATION_NOT_ALLOWED/own-names UnsupportedFeatureError
    The rows of the table cannot be {operation}, because it has the column {column}, and names that begin with {prefix} are reserved
    for columns that bayou adds to rows.
    Next: Drop the column, and add it again under another name, with the engine that wrote it.
DELTA_UNSUPPORTED_DATA_TYPES InvalidSchemaError
    Found columns using unsupported data types: {types}.
    Next: Cast the columns, for example to STRING, which can hold the value of every type.
DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_ALL_VOID_COLUMNS InvalidSchemaError
    All columns that data files would hold have VOID type.
DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_ALL_VOID_FIELDS InvalidSchemaError
    The column {columns!r} is a struct whose fields all have VOID type.
DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS InvalidSchemaError
    The column {columns!r} is a struct with no fields.
DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE InvalidSchemaError
    The column {columns!r} has void inside an array or a map.
    Next: Cast the elements.
DELTA_NESTED_NOT_NULL_CONSTRAINT InvalidSchemaError
    The field {columns[0]!r} is NOT NULL inside an array or a map, where no writer checks it.
DELTA_PARTITION_COLUMN_NOT_FOUND InvalidSchemaError
    The partition column {columns!r} is not among the columns {known}.
    Next: Partition by one of these columns.
DELTA_INVALID_PARTITION_COLUMN_TYPE InvalidSchemaError
    Cannot partition by {columns!r}, because type {type} cannot be a partition column.
    Next: Partition by a column of another type.
DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS InvalidSchemaError
    A partition column is named twice in {columns!r}.
DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION InvalidSchemaError
    Not every column can be a partition column, because the data files would be empty.
DELTA_METADATA_MISMATCH/partition-type SchemaMismatchError
    A column of type {type} cannot be a partition column.
DELTA_METADATA_MISMATCH/binary-partition SchemaMismatchError
    A binary partition value is not UTF-8 ({reason}), and the log holds partition values as strings.
    Next: Partition by another column, or by the value in hexadecimal.
DELTA_ILLEGAL_OPTION/indexed-columns InvalidOptionError
    The table property {option} is {value!r}.
    Next: Set it to -1 for all columns, or to how many of the first columns get statistics.
DELTA_ILLEGAL_OPTION/column-list InvalidOptionError
    {value!r} is not a list of columns.
    Next: Separate columns with commas, and put a name with a dot or a comma into backticks.
DELTA_COLUMN_NOT_FOUND_IN_SCHEMA InvalidSchemaError
    Couldn't find the column {column!r} among the columns {known}.
    Next: Name one of these columns.
DELTA_INCORRECT_ARRAY_ACCESS_BY_NAME InvalidSchemaError
    The column {column!r} is an array, whose elements are {column}.element, not {column}.{name}.
    Next: Name {column} or {column}.element.
DELTA_FOUND_MAP_TYPE_COLUMN InvalidSchemaError
    The column {column!r} is a map, which has {column}.key and {column}.value, not {column}.{name}.
    Next: Name {column}, {column}.key or {column}.value.
DELTA_COLUMN_PATH_NOT_NESTED InvalidSchemaError
    The column {column!r} is {type}, which has no field {name!r}.
    Next: Name {column} itself.
DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA InvalidSchemaError
    The column {column!r} is the only one of its struct, and a struct needs at least one.
DELTA_UNSUPPORTED_RENAME_COLUMN UnsupportedFeatureError
    To rename a column, the table needs column mapping, because its data files have the columns under their logical names.
    Next: Set delta.columnMapping.mode to name.
DELTA_UNSUPPORTED_DROP_COLUMN UnsupportedFeatureError
    To drop a column, the table needs column mapping, because its data files have the columns under their logical names.
    Next: Set delta.columnMapping.mode to name.
DELTA_UNSUPPORTED_RENAME_COLUMN/nested InvalidSchemaError
    {column!r} is the content of an array or a map, so it cannot be renamed.
DELTA_UNSUPPORTED_DROP_NESTED_COLUMN_FROM_NON_STRUCT_TYPE InvalidSchemaError
    {column!r} is the content of an array or a map, so it cannot be dropped.
DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN InvalidSchemaError
    Dropping partition columns ({columns}) is not allowed.
DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN InvalidSchemaError
    Dropping clustering columns ({columns}) is not allowed.
DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION/dropped InvalidSchemaError
    Only partition columns would be left, and the data files would be empty.
DELTA_OPERATION_NOT_ALLOWED/add-not-null InvalidSchemaError
    The column {column!r} or a field in it is NOT NULL, but NOT NULL in ALTER TABLE ADD COLUMNS is not supported.
    Next: Add the column without NOT NULL, because the existing rows have no value for it.
DELTA_ADD_COLUMN_PARENT_NOT_STRUCT InvalidSchemaError
    The column {column!r} cannot be added to {parent!r}, which is {type}.
DELTA_CANNOT_UPDATE_STRUCT_FIELD InvalidSchemaError
    The struct {column!r} cannot take another type as a whole.
    Next: Add, drop or change its fields one by one.
DELTA_CANNOT_UPDATE_MAP_FIELD InvalidSchemaError
    The map {column!r} cannot take another type as a whole.
    Next: Change {column}.key or {column}.value.
DELTA_CANNOT_UPDATE_ARRAY_FIELD InvalidSchemaError
    The array {column!r} cannot take another type as a whole.
    Next: Change {column}.element.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/widening InvalidSchemaError
    The type of the column {column!r} cannot change from {type} to {new_type}.
    Next: Set delta.enableTypeWidening to true for a wider type.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/type InvalidSchemaError
    The type of the column {column!r} cannot change from {type} to {new_type}.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/not-null InvalidSchemaError
    The column {column!r} can become nullable, but it cannot become NOT NULL.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/nullability InvalidSchemaError
    The nullability of {column!r} cannot change, because it is the content of an array or a map.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/position InvalidSchemaError
    {column!r} has no position, because it is the content of an array or a map.
DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED/change InvalidSchemaError
    The column {column!r} is an identity column, of which only the name, comment and position can change.
DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY InvalidSchemaError
    Can't add a comment to {column!r}, because it is the content of an array or a map.
DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED InvalidSchemaError
    REPLACE COLUMNS is not supported for a table with an identity column.
DELTA_AMBIGUOUS_DATA_TYPE_CHANGE InvalidSchemaError
    The columns {removed} would be replaced by {added}{place}, which could be a rename as well.
    Next: Make these changes one by one, with ADD, DROP and RENAME COLUMN.
DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP InvalidSchemaError
    Unsupported ALTER TABLE REPLACE COLUMNS operation. Reason: {reason}{place}.
column-with-dependents InvalidSchemaError
    Column {name} cannot {change} because this column is referenced by the following {owners}: {dependents}.
    Next: Drop what refers to the column first.
DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN InvalidSchemaError
    Data skipping is not supported for partition column {column!r}, because files have no statistics of it.
    Next: Leave it out of delta.dataSkippingStatsColumns, because files are skipped by its values in the log.
DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE InvalidSchemaError
    Data skipping is not supported for column {column!r} of type {type}, which has no bounds.
    Next: Leave it out of delta.dataSkippingStatsColumns.
DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE/field InvalidSchemaError
    Data skipping is not supported for column {column!r} of type {type}, which has no bounds.
    Next: Name the other fields of {parent} one by one.
"""
