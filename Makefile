# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` need Python 3.10 or newer. They set up the rest, and ask before they install a system package.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SHARED ?= ../shared
# Which environments `make matrix` runs; scripts/matrix.py knows more.
LEGS := oracle
SPARK ?= $(LEGS)
# What `make test-changed` compares with.
BASE ?= main
# Where `make smoke` runs.
MASTER ?= local[2]
# How many rows the table of `make bench-peers` has.
ROWS ?= 6000000
# How many processes share the tests, each with a Spark session of its own. Two leave two cores idle for a third of the time.
export JOBS ?= 3
# What `make test-connect` runs: the tests of Spark Connect, and a tenth of those of classic sessions, of every kind.
ON_CONNECT := --on-connect -n 2 --dist loadfile tests/connect $(addprefix tests/spark/, \
	read/test_freshness.py read/test_partition_folders.py read/test_change_request.py expressions/test_stored_expressions.py \
	$(addprefix dml/, core/test_conflicts.py core/test_change_plans.py core/test_optimized_changes.py replace/test_replace_on.py \
	merge/test_conditions.py merge/test_values.py merge/resolution/test_evolution.py statements/test_delete_statements.py) \
	$(addprefix write/, test_batches.py test_conflicts.py test_empty_frames.py test_insert_casts.py test_merged_schemas.py) \
	types/test_store_assignment.py)
# What `make test-connect-all` runs: both whole folders. With a keyword, which all their tests have, a run takes every case.
ALL_ON_CONNECT := --on-connect -n 2 --dist loadfile -k test tests/connect tests/spark
# Arguments of scripts/mutants.py.
MUTANTS ?=
# Further arguments for pytest: make test ARGS="-k history -x"
ARGS ?=

# Runs what follows with a Java that Spark runs on. If there is none, the script offers to install one (INSTALL_JAVA=1 agrees).
WITH_JAVA := JAVA_HOME=$$($(BIN)/python scripts/java_home.py) && export JAVA_HOME &&
# Runs what follows with Hadoop's test cluster, where its JAR is at hand or can be fetched.
WITH_HDFS := BAYOU_MINICLUSTER_JAR=$${BAYOU_MINICLUSTER_JAR-$$($(BIN)/python scripts/minicluster_jar.py)} && export BAYOU_MINICLUSTER_JAR &&
# The same for the JARs that Spark reads S3 with.
WITH_S3 := BAYOU_S3_JARS=$${BAYOU_S3_JARS-$$($(BIN)/python scripts/s3_jars.py)} && export BAYOU_S3_JARS &&
# The same for the servers of object stores.
with_server = $(2)=$${$(2)-$$($(BIN)/python scripts/object_servers.py $(1))} && export $(2) &&
WITH_S3_SERVER := $(call with_server,versitygw,BAYOU_VERSITYGW)
WITH_STORES := $(call with_server,azurite,BAYOU_AZURITE) $(WITH_S3_SERVER) $(call with_server,fake-gcs-server,BAYOU_FAKE_GCS)
# The same for the statements of Spark's own tests, which only the long runs read.
WITH_SQL_TESTS := BAYOU_SPARK_SQL_TESTS=$${BAYOU_SPARK_SQL_TESTS-$$($(BIN)/python scripts/spark_sql_tests.py)} && export BAYOU_SPARK_SQL_TESTS &&
PYTEST := $(BIN)/python -m pytest
SHARED_OUT := -n $(JOBS) --dist worksteal

export PYSPARK_PYTHON := $(abspath $(BIN)/python)
# PySpark reads a variable of this name in the environment.
unexport MASTER

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-connect test-connect-all test-core test-spark test-changed smoke smoke-all soak soak-oracle mutants matrix oracle clients error-texts docs package lint format bench bench-peers clean

help: ## List the targets
	@echo "make TARGET, with TARGET one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## The flights of 2013 become a Delta table, are queried, travel in time (under two minutes after set-up); STORE=s3, CONNECT=1
	@$(WITH_JAVA) $(if $(STORE),$(WITH_S3)) STORE=$(STORE) CONNECT=$(CONNECT) $(BIN)/python examples/demo.py

test: setup ## All tests but the long ones, on the newest PySpark
	@$(WITH_JAVA) $(WITH_HDFS) $(WITH_S3) $(WITH_STORES) $(PYTEST) $(SHARED_OUT) $(ARGS)

	@$(WITH_JAVA) $(WITH_S3) $(WITH_S3_SERVER) $(PYTEST) $(ON_CONNECT) $(ARGS)

test-connect: setup ## The tests on a server of Spark Connect that they start, in a process without classic sessions; PYSPARK=4.0
	@$(WITH_JAVA) $(WITH_S3) $(WITH_S3_SERVER) $(if $(PYSPARK),$(BIN)/python scripts/matrix.py $(PYSPARK) --,$(PYTEST)) $(ON_CONNECT) $(ARGS)

test-connect-all: setup ## All that can run on such a server, with every case (hours)
	@$(WITH_JAVA) $(WITH_S3) $(WITH_S3_SERVER) $(PYTEST) $(ALL_ON_CONNECT) $(ARGS)

test-core: setup ## The tests that need no JVM
	@$(WITH_STORES) $(PYTEST) $(SHARED_OUT) tests/core tests/scenarios/core $(ARGS)

test-spark: setup ## The tests on a Spark session
	@$(WITH_JAVA) $(WITH_HDFS) $(WITH_S3) $(WITH_STORES) $(PYTEST) $(SHARED_OUT) tests/spark tests/scenarios/spark tests/hadoop tests/object_stores $(ARGS)

test-changed: setup ## The tests of the folders that differ from main: make test-changed BASE=HEAD~3 for another start
	@$(WITH_JAVA) $(WITH_HDFS) $(WITH_S3) $(WITH_STORES) SUITES=$$($(BIN)/python scripts/changed_tests.py $(BASE)) && \
		if [ -z "$$SUITES" ]; then echo "nothing that tests mirror differs from $(BASE)"; else $(PYTEST) $(SHARED_OUT) $$SUITES $(ARGS); fi

smoke: setup ## Some 80 operations on one PySpark: make smoke SPARK=4.1 (or 3.5.0, pre; MASTER=standalone, connect, "local-cluster[1,1,1024]")
	@$(WITH_JAVA) $(BIN)/python scripts/smoke.py --master "$(MASTER)" $(if $(filter-out $(LEGS),$(SPARK)),$(SPARK),)

smoke-all: setup ## The same on the newest and the oldest patch of each minor, a pre-release, and each Java
	@$(WITH_JAVA) $(BIN)/python scripts/smoke.py --all --master "$(MASTER)"

soak: setup mutants ## Thousands of random sequences, hundreds of kills, a hundred mutants: takes long
	@$(WITH_JAVA) $(WITH_HDFS) $(WITH_S3) $(WITH_STORES) $(WITH_SQL_TESTS) $(PYTEST) -m soak --hypothesis-profile=soak $(ARGS)

mutants: setup ## Which small faults in the rules no test notices: make mutants MUTANTS="--seed 7", or src/bayou/FILE:LINE
	@$(BIN)/python scripts/mutants.py $(MUTANTS)

clients: setup ## Released programs that use Delta tables, on bayou; writes docs/works_with.md (an hour)
	@$(WITH_JAVA) $(BIN)/python scripts/clients.py

soak-oracle: setup ## All comparisons with delta-spark and delta-rs, the long ones too: takes hours
	@$(WITH_JAVA) $(BIN)/python scripts/matrix.py oracle-soak

matrix: setup ## A short suite on other PySparks, and delta-spark as the oracle: make matrix SPARK="3.5 4.1"
	@$(WITH_JAVA) $(BIN)/python scripts/matrix.py $(SPARK)

oracle: SPARK := oracle
oracle: matrix ## The comparison with delta-spark alone (part of matrix)

error-texts: setup ## Store the texts of errors as they are now in tests/errors, to be reviewed
	@PYTHONPATH=src $(BIN)/python -m tests.errors

docs: setup ## The documentation site in build/site; fails on a warning or a dead link
	@$(BIN)/python scripts/build_site.py

package: setup ## Build the package, check it as an index does, install it into an empty environment
	@$(BIN)/python scripts/check_package.py

lint: setup ## Style and types: ruff with every rule, mypy strict, and pyright on a user's program
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy tests/typing/user_program.py
	@$(BIN)/basedpyright --pythonpath $(BIN)/python

format: setup ## Format the code and fix what can be fixed safely
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup ## Time the same work on plain Parquet and on bayou; CONNECT=1 also on Spark Connect
	@$(WITH_JAVA) $(BIN)/python scripts/$(if $(CONNECT),bench_connect,bench).py $(SHARED)/bench/bench.py $(ARGS)

bench-peers: setup ## The same work on delta-spark, delta-rs and bayou, timed: make bench-peers ROWS=6000000
	@$(WITH_JAVA) $(BIN)/python scripts/bench_peers.py $(ROWS)

clean: ## Remove the virtual environment and what tools left behind
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log
	find src tests scripts examples -name __pycache__ -type d -prune -exec rm -rf {} +

setup: $(STAMP)

$(STAMP): pyproject.toml scripts/make_venv.py scripts/find_python.sh
	@$$(sh scripts/find_python.sh) scripts/make_venv.py $(VENV)
	@touch $@
