# SPDX-License-Identifier: Apache-2.0
"""The errors of protocols, table features and table properties."""

from __future__ import annotations

from typing import Final

FEATURES: Final = """
DELTA_INVALID_PROTOCOL_VERSION/zero UnsupportedProtocolError
    The table has the protocol ({reader}, {writer}), but versions begin with 1.
    Next: Find out which program wrote it.
DELTA_INVALID_PROTOCOL_VERSION/reader UnsupportedProtocolError
    The table needs reader version {required}, and bayou reads up to {supported}.
    Next: Read it with a newer bayou, or with the engine that wrote it.
DELTA_INVALID_PROTOCOL_VERSION/writer UnsupportedProtocolError
    The table needs writer version {required}, and bayou writes up to {supported}.
    Next: Write to it with the engine that created it.
DELTA_UNSUPPORTED_FEATURES_FOR_READ UnsupportedFeatureError
    The table uses reader features that bayou does not support: {features}.
    Next: Read it with an engine that supports them, or drop the features there.
DELTA_UNSUPPORTED_FEATURES_FOR_READ/catalog-managed UnsupportedFeatureError
    The table uses reader features that bayou does not support ({features}), and it cannot be read by its path because its catalog
    holds the latest commits.
    Next: Read it through the catalog that manages it.
DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION UnsupportedFeatureError
    {operation} is not possible on a catalog-managed table, because the catalog holds its latest commits and maintains it.
    Next: Use what the catalog offers for it.
DELTA_UNSUPPORTED_FEATURES_FOR_WRITE UnsupportedFeatureError
    The table requires features of its writers that bayou does not support: {features}.
    Next: Write to it with an engine that supports all of these, or only read it.
DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/files UnsupportedFeatureError
    Files cannot be added as they are, because it is not known whether their rows obey the table's rules ({features}).
    Next: Write the rows with Spark, which checks them.
DELTA_INVALID_PROTOCOL_DOWNGRADE InvalidCommitError
    The protocol cannot be downgraded, but the commit removes {features}.
    Next: Drop features with ALTER TABLE ... DROP FEATURE.
DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH CorruptLogError
    The table features {features} are enabled in metadata but not listed in protocol.
    Next: Add the features with ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.<name>' = 'supported'), or unset what uses them.
DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT UnsupportedFeatureError
    The schema requires manual enablement of these table features: {features}; the table supports {supported}.
    Next: Run ALTER TABLE ... SET TBLPROPERTIES ({assignments}) first, after which older clients cannot read the table.
DELTA_CANNOT_MODIFY_APPEND_ONLY AppendOnlyError
    The table only takes appends (delta.appendOnly), and {operation}.
    Next: Set delta.appendOnly to false first{instead}.
    Parameters: table_name={table_name} config=delta.appendOnly
DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED InvalidOptionError
    The history of a table need not be truncated to drop {feature}, which no reader looks at.
    Next: Leave TRUNCATE HISTORY out.
DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION InvalidOptionError
    {feature} can only be dropped by truncating history, because it keeps old versions readable.
    Next: Run ALTER TABLE ... DROP FEATURE {feature} TRUNCATE HISTORY.
DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY InvalidOptionError
    {feature} is a table property and not a table feature.
    Next: Unset it with ALTER TABLE ... UNSET TBLPROPERTIES ('{feature}'), and drop the feature by its own name.
DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE UnsupportedFeatureError
    The table feature {features} is not known.
    Next: Drop it with an engine that knows it.
DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE/known UnsupportedFeatureError
    bayou cannot undo the feature {features}.
    Next: Drop it with an engine that can.
DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT InvalidOptionError
    The table does not have the feature {feature}.
    Next: Name one of the features of the table: {supported}.
DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE UnsupportedFeatureError
    The feature {features} cannot be removed from any table.
    Next: Copy the rows into a table without it.
DELTA_FEATURE_DROP_DEPENDENT_FEATURE UnsupportedFeatureError
    The feature {feature} cannot be dropped, because {features} depends on it.
    Next: Drop {features} first.
DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD InvalidOptionError
    Dropping {feature} was partially successful, because the table no longer uses it but its history still does.
    Next: Run ALTER TABLE ... DROP FEATURE ... TRUNCATE HISTORY again after {retention} ({option}).
DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD InvalidOptionError
    The table's history still has traces of dropped features.
    Next: Run ALTER TABLE ... DROP FEATURE ... TRUNCATE HISTORY again after {retention} ({option}).
DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST InvalidOptionError
    {feature} cannot be dropped yet, because the log contains historical versions that use it.
    Next: Run ALTER TABLE ... DROP FEATURE ... TRUNCATE HISTORY again after {retention} ({option}).
DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE InvalidOptionError
    The CHECK constraints have to be dropped before their table feature: {constraints}.
    Next: Run ALTER TABLE ... DROP CONSTRAINT for each of them.
DELTA_ILLEGAL_OPTION/retention InvalidOptionError
    The property delta.logRetentionDuration needs to be greater than or equal to delta.deletedFileRetentionDuration, because the log
    has to know every file that is kept.
    Next: Set delta.deletedFileRetentionDuration too, or a longer delta.logRetentionDuration.
DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION InvalidOptionError
    The properties delta.enableRowTracking and delta.rowTrackingSuspended cannot both be true.
    Next: Set one of them to false.
DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION InvalidOptionError
    Symlink manifests and deletion vectors cannot be combined, because readers of manifests do not read deletion vectors.
    Next: Set delta.compatibility.symlinkFormatManifest.enabled or delta.enableDeletionVectors to false.
DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING InvalidOptionError
    Symlink manifests and column mapping cannot be combined, because readers of manifests do not know physical names.
    Next: Set delta.compatibility.symlinkFormatManifest.enabled to false.
DELTA_ILLEGAL_OPTION/twice InvalidOptionError
    The property {option} is set to {value!r} and to {other!r}.
    Next: Give each property once.
DELTA_ADD_CONSTRAINTS InvalidOptionError
    {option} would be a CHECK constraint, which cannot be set as a property.
    Next: Please use ALTER TABLE ADD CONSTRAINT to add CHECK constraints.
DELTA_CANNOT_MODIFY_TABLE_PROPERTY InvalidOptionError
    The Delta table configuration {option} cannot be specified by the user, because writers maintain it.
DELTA_CANNOT_MODIFY_TABLE_PROPERTY/clustering InvalidOptionError
    The Delta table configuration {option} cannot be specified by the user.
    Next: Set the columns with CLUSTER BY.
DELTA_CANNOT_CHANGE_LOCATION InvalidOptionError
    The location of a table is not a property, so that it cannot be changed by setting {option!r}.
DELTA_CANNOT_CHANGE_PROVIDER InvalidOptionError
    {option!r} is a reserved table property, and cannot be altered.
DELTA_ILLEGAL_OPTION/property InvalidOptionError
    The property {option} cannot be {value!r}: {option} {needs}.
    Next: Set it to such a value, or leave it out.
DELTA_UNSUPPORTED_FEATURE_STATUS InvalidOptionError
    Expecting the status for table feature {feature} to be "supported", but got "{status}".
    Next: Set {option} to supported.
DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED InvalidOptionError
    The table feature clustering cannot be set as a property, because it needs columns.
    Next: Use CLUSTER BY.
DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED InvalidOptionError
    The table feature clustering cannot be set as a property, because it needs columns.
    Next: Use CLUSTER BY.
DELTA_UNSUPPORTED_FEATURES_IN_CONFIG UnsupportedFeatureError
    The table feature {features} is not known.
    Next: {suggestion}.
DELTA_UNKNOWN_CONFIGURATION InvalidOptionError
    Unknown configuration was specified: {option}.
    Next: {suggestion}, or set {setting} to true to keep it as it is.
    Parameters: config={option} disableCheckConfig=spark.databricks.delta.allowArbitraryProperties.enabled
"""
