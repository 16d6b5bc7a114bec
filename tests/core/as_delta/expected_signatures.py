# SPDX-License-Identifier: Apache-2.0
"""The parameters of delta-spark 4.4.0's public Python methods, without `self` and `cls`; `=` marks those with a default."""

from __future__ import annotations

DELTA_TABLE = {
    "forPath": "sparkSession path hadoopConf=",
    "forName": "sparkSession tableOrViewName",
    "isDeltaTable": "sparkSession identifier",
    "convertToDelta": "sparkSession identifier partitionSchema=",
    "create": "sparkSession=",
    "createIfNotExists": "sparkSession=",
    "replace": "sparkSession=",
    "createOrReplace": "sparkSession=",
    "toDF": "",
    "generate": "mode",
    "vacuum": "retentionHours=",
    "history": "limit=",
    "detail": "",
    "upgradeTableProtocol": "readerVersion writerVersion",
    "addFeatureSupport": "featureName",
    "dropFeatureSupport": "featureName truncateHistory=",
    "restoreToVersion": "version",
    "restoreToTimestamp": "timestamp",
    "optimize": "",
    "clone": "target isShallow= replace= properties=",
    "cloneAtVersion": "version target isShallow= replace= properties=",
    "cloneAtTimestamp": "timestamp target isShallow= replace= properties=",
}
# What changes rows: each of them is checked once it is there.
DELTA_TABLE_ROWS = {
    "alias": "aliasName",
    "delete": "condition=",
    "update": "condition= set=",
    "merge": "source condition",
}
DELTA_TABLE_BUILDER = {
    "tableName": "identifier",
    "location": "location",
    "comment": "comment",
    "addColumn": "colName dataType nullable= generatedAlwaysAs= generatedByDefaultAs= comment=",
    "addColumns": "cols",
    "partitionedBy": "*cols",
    "clusterBy": "*cols",
    "property": "key value",
    "execute": "",
}
DELTA_OPTIMIZE_BUILDER = {"where": "partitionFilter", "executeCompaction": "", "executeZOrderBy": "*cols"}
DELTA_MERGE_BUILDER = {
    "whenMatchedUpdate": "condition= set=",
    "whenMatchedUpdateAll": "condition=",
    "whenMatchedDelete": "condition=",
    "whenNotMatchedInsert": "condition= values=",
    "whenNotMatchedInsertAll": "condition=",
    "whenNotMatchedBySourceUpdate": "condition= set=",
    "whenNotMatchedBySourceDelete": "condition=",
    "withSchemaEvolution": "",
    "execute": "",
}
