# SPDX-License-Identifier: Apache-2.0
"""`delta.version`: the version of delta-spark that bayou replaces on this PySpark."""

from __future__ import annotations

import pyspark

from bayou.as_delta.versions import delta_spark_version

__version__ = delta_spark_version(pyspark.__version__)
