# SPDX-License-Identifier: Apache-2.0
"""A long stream between two tables, which says what its process holds on the way: `long_stream.py FOLDER BATCHES STEP`."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

import pyarrow as pa
from tests.support.processes import answer
from tests.support.tables.built import numbers_table

import bayou
from bayou.testing.session import local_session

# What Spark itself keeps of jobs and queries, however many there were.
RETAINED = ("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.ui.retainedTasks", "spark.sql.ui.retainedExecutions")


def start():
    return bayou.enable(local_session({**dict.fromkeys(RETAINED, "50"), "spark.driver.memory": "1g"}))


def memory(spark):
    """What is held each time that the stream has ended so many batches, in bytes."""
    folder, batches, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    files = batches + 10  # so that it still runs when it is looked at last
    numbers_table(str(folder / "source"), *([i] for i in range(files)))
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(str(folder / "source"))
    writer = rows.writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "sink"))
    found = []
    for batch in range(step, batches + 1, step):
        while query.isActive and (query.lastProgress or {"batchId": -1})["batchId"] < batch:
            time.sleep(0.05)
        found.append({"batch": query.lastProgress["batchId"], **held(spark)})
    query.awaitTermination()
    assert spark.read.format("delta").load(str(folder / "sink")).count() == files
    return found


def held(spark):
    system = spark.sparkContext._jvm.java.lang.System
    for _ in range(3):
        gc.collect()
        system.gc()
        system.runFinalization()
        time.sleep(0.5)
    heap = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    proxies = len(spark.sparkContext._gateway.gateway_property.pool.dict)
    return {"heap": heap, "resident": resident, "arrow": pa.total_allocated_bytes(), "proxies": proxies}


if __name__ == "__main__":
    answer(start, [memory])
