# SPDX-License-Identifier: Apache-2.0
"""Prepare a session of Spark Connect: see `bayou.enable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.portable.answers import TableAnswers
from bayou.spark.portable.requests.installation import install, requests_of
from bayou.spark.session.application import Application

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def enable_connect(spark: SparkSession) -> None:
    """Let a session of Spark Connect read and write Delta tables. Calling it again does nothing."""
    if requests_of(spark) is None:
        install(spark, TableAnswers(Application.of(spark), spark))
