# SPDX-License-Identifier: Apache-2.0
"""The defaults of delta-spark's settings, which it registers with Spark so that `spark.conf.get` reports them.

Source: the settings that delta-spark 4.4 registers, without those for its tests and internals.
"""

from __future__ import annotations

from typing import Final

_SWITCHES: Final = {
    "true": """
        autoCompact.modifiedPartitionsOnly.enabled checkLatestSchemaOnRead clone.replaceEnabled columnMapping.allowRemoval
        columnMapping.checkMaxColumnId columnMapping.reuseColumnMetadataDuringOverwrite
        columnMapping.reuseColumnMetadataDuringReplace commitMetrics.enabled convert.metadataCheck.enabled
        convert.useCatalogPartitions convert.useCatalogSchema convert.useMetadataLog createEmptySchemaTable.enabled
        delete.deletionVectors.persistent deltaLog.minorCompaction.useForReads duplicateActionCheck.enabled
        dynamicPartitionOverwrite.enabled featureEnablement.conflictResolution.enabled
        generatedColumn.partitionFilterOptimization.enabled history.metricsEnabled identityColumn.enabled
        merge.deletionVectors.persistent merge.optimizeInsertOnlyMerge.enabled merge.optimizeMatchedOnlyMerge.enabled
        merge.repartitionBeforeWrite.enabled optimize.zorder.checkStatsCollection.enabled optimizeMetadataQuery.enabled
        replaceOn.dataframe.writer.enabled replaceUsing.dataframe.writer.enabled replaceWhere.constraintCheck.enabled
        replaceWhere.dataColumns.enabled retentionDurationCheck.enabled rowTracking.backfill.enabled
        schema.typeCheck.enabled skipRecordingEmptyCommits stats.collect stats.collect.using.tableSchema
        stats.limitPushdown.enabled stats.skipping streaming.offsetValidation.enabled streaming.schemaTracking.enabled
        streaming.schemaTracking.mergeConsecutiveSchemaChanges.enabled streaming.schemaTracking.metadataPathCheck.enabled
        tableFeatures.fastDropFeature.enabled typeWidening.allowIntegralDecimalCoercion
        typeWidening.allowTypeChangeStreamingDeltaSource update.deletionVectors.persistent
        vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility
        vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration variantShredding.forceUsePreviewTableFeature
        write.utcTimestampPartitionValues writeChecksumFile.enabled
    """,
    "false": """
        allowArbitraryProperties.enabled alterLocation.bypassSchemaCheck autoCompact.nonBlindAppend.enabled
        catalog.update.enabled changeDataFeed.timestampOutOfRange.enabled
        changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled checkpoint.exceptionThrowing.enabled
        commit.idempotencyCheck.enabled constraints.allowUnenforcedNotNull.enabled constraints.assumesDropIfExists.enabled
        convert.partitionValues.ignoreCastFailure
        identityColumn.allowSyncIdentityToLowerHighWaterMark.enabled optimize.repartition.enabled
        restore.protocolDowngradeAllowed schema.autoMerge.enabled streaming.allowSchemaLocationOutsideCheckpointLocation
        streaming.distributedInitialSnapshot streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled
        streaming.unsafeReadOnIncompatibleSchemaChangesDuringStreamStart.enabled
        streaming.unsafeReadOnNullabilityChange.enabled streaming.unsafeReadOnPartitionColumnChanges.enabled
        typeWidening.bypassStreamingTypeChangeCheck typeWidening.bypassUnsupportedTypeChangeCheck
        typeWidening.enableStreamingSchemaTracking updateAndMergeCastingFollowsAnsiEnabledFlag vacuum.lite.enabled
        vacuum.parallelDelete.enabled vacuum.retentionWindowIgnore.enabled write.dataFilesToSubdir
        write.txnVersion.autoReset.enabled
    """,
}
_OTHERS: Final = {
    "autoCompact.maxFileSize": "134217728",
    "autoCompact.maxNumModifiedPartitions": "128",
    "autoCompact.maxTablePartitionStats": "16384",
    "autoCompact.minNumFiles": "50",
    "autoCompact.partitionStatsSize": "65536",
    "backfill.maxNumFiles": "22000",
    "changeDataFeed.defaultSchemaModeForColumnMappingTable": "endVersion",
    "clusteredTable.numClusteringColumnsLimit": "4",
    "collectStats.numFilesPerPartition": "100",
    "delta.log.cacheRetentionMinutes": "3600000ms",
    "delta.log.cacheSize": "10000",
    "maxCommitAttempts": "10000000",
    "merge.materializeSource": "auto",
    "merge.materializeSource.maxAttempts": "4",
    "merge.materializeSource.rddStorageLevel": "DISK_ONLY",
    "merge.materializeSource.rddStorageLevelFirstRetry": "DISK_ONLY_2",
    "merge.materializeSource.rddStorageLevelRetry": "DISK_ONLY_3",
    "optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize": "161061273600",
    "optimize.clustering.mergeStrategy.minCubeSize.threshold": "107374182400",
    "optimize.maxDeletedRowsRatio": "0.05",
    "optimize.maxFileSize": "1073741824",
    "optimize.maxThreads": "15",
    "optimize.minFileSize": "1073741824",
    "optimizeWrite.binSize": "536870912b",
    "optimizeWrite.maxShufflePartitions": "2000",
    "optimizeWrite.numShuffleBlocks": "50000000",
    "properties.defaults.minReaderVersion": "1",
    "properties.defaults.minWriterVersion": "2",
    "rowTracking.backfill.maxNumFiles": "22000",
    "stalenessLimit": "0ms",
    "streaming.initialSnapshotMaxFiles": "100000",
    "tableFeatures.fastDropFeature.dvTombstoneCountThreshold": "10000",
    "typeWidening.allowAutomaticWidening": "ALWAYS",
}
_UNDEFINED: Final = """
    autoCompact.enabled autoCompact.minFileSize checkpoint.partSize commitInfo.userMetadata lastCommitVersionInSession
    optimize.batchSize optimizeWrite.enabled snapshotPartitions vacuum.logging.enabled vacuum.parallelDelete.parallelism
    write.txnAppId write.txnVersion
"""

DEFAULTS: Final[dict[str, str | None]] = {
    **{f"spark.databricks.delta.{name}": None for name in _UNDEFINED.split()},
    **{f"spark.databricks.delta.{name}": value for value, names in _SWITCHES.items() for name in names.split()},
    **{f"spark.databricks.delta.{name}": value for name, value in _OTHERS.items()},
    "spark.databricks.io.skipping.stringPrefixLength": "32",
}
"""The default of each setting by its full name; None if it has no default."""
