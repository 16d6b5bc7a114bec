# SPDX-License-Identifier: Apache-2.0
"""`delta.pip_utils`: the helper that adds delta-spark's JARs to a session. Here it adds none."""

from __future__ import annotations

from typing import List, Optional  # noqa: UP035  (programs get these by `from delta.pip_utils import *`)

import pyspark
from pyspark.sql import SparkSession

from bayou.as_delta.given_settings import note
from bayou.as_delta.sessions import options_of, set_options
from bayou.as_delta.settings import PACKAGES, without_delta
from bayou.as_delta.versions import artifact, delta_spark_version

__all__ = ["List", "Optional", "SparkSession", "configure_spark_with_delta_pip"]

_PACKAGE = f"io.delta:{artifact(pyspark.__version__)}:{delta_spark_version(pyspark.__version__)}"
"""The package that delta-spark's helper adds, for programs that read it back."""


def configure_spark_with_delta_pip(
    spark_session_builder: SparkSession.Builder,
    extra_packages: Optional[List[str]] = None,  # noqa: UP006, UP045  (see the import)
) -> SparkSession.Builder:
    """Return the builder without Delta's own extension, catalogs and packages. Its `getOrCreate()` returns an enabled session.

    Args:
        spark_session_builder: the builder; it is changed and returned.
        extra_packages: Maven coordinates of further packages; those of `io.delta` are left out.

    Raises:
        TypeError: it is not a builder.
    """
    if type(spark_session_builder) is not SparkSession.Builder:
        raise TypeError(
            "This function must be called with a SparkSession builder as the argument. "
            f"The argument found is of type {type(spark_session_builder)}."
        )
    options = options_of(spark_session_builder)
    packages = [each for each in str(options.pop(PACKAGES, None) or "").split(",") if each.strip()]
    packages += [each for each in (_PACKAGE, *(extra_packages or [])) if each not in packages]
    options[PACKAGES] = ",".join(packages)
    note(spark_session_builder, options)  # the program can read back the packages that delta-spark would have added
    set_options(spark_session_builder, without_delta(options))
    return spark_session_builder
