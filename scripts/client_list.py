# SPDX-License-Identifier: Apache-2.0
"""The released programs that scripts/clients.py runs on bayou: what each needs, and what of it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """A released program that uses Delta tables.

    Attributes:
        release: its name and version, as pip has them.
        requirements: what it and its tests need in addition to PySpark and to what bayou needs.
        tests: files and folders of its own tests that use Delta tables; they come from its source distribution.
        without: tests that are left out, each with the reason.
        conftest: a plugin with its fixtures, if the release leaves out its `conftest.py`.
        variables: environment variables that its tests look at.
        program: a program of this repository that uses it as its users do.
        pyspark: the PySpark that it runs on, the newest one that its own requirements allow.
    """

    release: str
    requirements: tuple[str, ...]
    tests: tuple[str, ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    conftest: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    program: str = ""
    pyspark: str = "4.2.0"


def _tests(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/test_{name}.py" for name in names)


CLIENTS = {
    "dbt": Client(
        "dbt-spark==1.11.0",
        ("dbt-core==1.11.*", "dbt-spark==1.11.0"),
        program="examples/dbt_project/check.py",
    ),
    "kedro": Client(
        "kedro-datasets==9.6.0",
        (
            *("kedro==1.7.0", "kedro-datasets==9.6.0", "lazy_loader", "pandas<3", "hdfs", "s3fs"),
            *("pytest-mock", "pytest-cov", "moto[s3]"),
        ),
        ("kedro_datasets_experimental/tests/databricks",),
        program="examples/clients/kedro_pipeline.py",
    ),
    "koheesio": Client(
        "koheesio==0.11.1",
        (
            *("pydantic>=2", "jsonpickle", "cryptography", "python-decouple", "pytz", "pyyaml", "tomli", "pandas<3", "numpy<3"),
            *("chispa", "freezegun", "pytest-mock", "pytest-order", "pytest-asyncio", "responses", "requests_mock"),
            *("time_machine", "flaky", "setuptools<81"),
        ),
        ("tests/spark/writers/delta", "tests/spark/test_delta.py", "tests/spark/readers/test_delta_reader.py"),
    ),
    "great_expectations": Client(
        "great-expectations==1.24.1",
        ("great-expectations[spark]==1.24.1",),
        program="examples/clients/great_expectations_suite.py",
        pyspark="4.1.4",
    ),
    "ibis": Client(
        "ibis-framework==12.0.0",
        ("ibis-framework[pyspark]==12.0.0", "pandas<3"),
        program="examples/clients/ibis_tables.py",
        pyspark="4.0.5",
    ),
    "pandera": Client(
        "pandera==0.35.0",
        ("pandera[pyspark]==0.35.0", "pandas<3"),
        program="examples/clients/pandera_schema.py",
    ),
    "soda": Client(
        "soda-sparkdf==4.28.0",
        ("soda-sparkdf==4.28.0", "pandas<3"),
        program="examples/clients/soda_contract.py",
    ),
    "databricks4py": Client(
        "databricks4py==0.3.0",
        ("pytest-timeout", "pandas<3"),
        _tests(
            *("delta", "delta_advanced_integration", "delta_metrics_sink_integration", "merge", "migration_runner_integration"),
            *("quality_integration", "soft_delete", "streaming_integration", "table_alter_integration"),
            *("workflow_e2e_integration", "checkpoint", "streaming", "streaming_dlq"),
        ),
        conftest="databricks4py.testing.fixtures",
    ),
    "superlake": Client(
        "superlake==1.0.3",
        ("pandas<3", "arrow", "applicationinsights", "loguru", "pytz"),
        ("tests",),
    ),
    "lakelogic": Client(
        "lakelogic==1.84.0",
        ("lakelogic==1.84.0", "pandas<3", "openpyxl", "lxml", "xlrd", "pytest-mock", "pytest-asyncio"),
        _tests(
            *("spark", "incremental", "materialization_comprehensive", "merge_adds_declared_columns", "run_log", "ddl"),
            *("scd2_late_arrival", "scd2_interval_diagnostics", "scd2_declared_temporal_types", "stream_sink", "quarantine"),
            *("scd1_surrogate_key_on_spark_delta", "deletion_vectors_stay_disabled", "spark_partition_layout"),
            *("delta_clustering_reconcile", "materialization_secondary_and_compaction", "delta_compat", "max_target_watermark"),
        ),
        without=(("test_from_max_target_success_and_fallback", "it replaces the session by an object that is not a session"),),
        variables=(("RUN_SPARK_TESTS", "1"),),
    ),
}
