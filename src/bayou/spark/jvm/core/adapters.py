# SPDX-License-Identifier: Apache-2.0
"""Compile the Java adapters on the running JVM, with the compiler that Spark ships for its generated code.

The adapters do what py4j cannot implement, or what Spark looks up by name. They hold no logic: each finds its leaf or statement
and asks Python. They are compiled once per JVM, against its version of Spark. Executors never load them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
import shutil
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from bayou.errors import failed
from bayou.spark.jvm.core.adapter_cache import AdapterCache
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.gateway import Py4JJavaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_logger = logging.getLogger("bayou")
_FILE_INDEX = "org.apache.spark.sql.execution.datasources.FileIndex"
_HADOOP_FS_RELATION = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_SOURCES = "bayou.spark.jvm.java"
_NEXT_STEP = "Use a Spark release that the README lists, or report this message to bayou."
_EXTENSION = "org.apache.spark.sql.connector.catalog.CatalogExtension"
_SPARKS_CATALOG = "org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension"
_SINK_LOG = (
    "org.apache.spark.sql.execution.streaming.sinks.FileStreamSinkLog",
    "org.apache.spark.sql.execution.streaming.FileStreamSinkLog",
)
"""The log of Spark's file sink, newest name first."""
_BY_NAME = "SQL and DataFrame writers on tables by name"
_PARSED = "UPDATE and MERGE with schema evolution as SQL, and statements that Spark does not parse"
_CHANGED = "DELETE, UPDATE and MERGE as SQL"
_MERGED = "DataFrame.mergeInto with structs, defaults and schema evolution"
_STATED = "the statements that only Delta has"
_FILES = "tables on file systems other than the local one"
_STREAMED = "streams that read a table"
_LOST_WITH = {
    "AnalyzerRule": _CHANGED,
    "Beginnings": _PARSED,
    "Catalog": _BY_NAME,
    "Changes": _BY_NAME,
    "Delegates": _PARSED,
    "DescribedTable": _BY_NAME,
    "ExecutedPlans": _MERGED,
    "FileTasks": "OPTIMIZE",
    "Functions": "table_changes, table_history, table_detail and table_files in SQL",
    "HadoopFiles": _FILES,
    "HadoopReads": _FILES,
    "HadoopSettings": "tables on S3, Google Cloud Storage and Azure that are set up for Hadoop",
    "Loading": "tables by name on a session with another product's catalog",
    "NamedTable": _BY_NAME,
    "OtherTable": _BY_NAME,
    "ParquetTables": "CONVERT of files that Spark did not write, and of partitioned tables of the catalog",
    "Parser": _PARSED,
    "PathNames": _PARSED,
    "S3aCredentials": "tables on S3 whose credentials a class of Java's provides",
    "ShownColumns": _CHANGED,
    "Signatures": _BY_NAME,
    "Statement": f"{_CHANGED}, and {_STATED}",
    "StreamOffset": _STREAMED,
    "StreamSink": "streams that write a table",
    "StreamSource": _STREAMED,
    "Subqueries": "DELETE and UPDATE with subqueries",
    "SyntaxError": "the position of an error in a statement that only Delta has",
    "Words": _STATED,
}
"""The adapters that a session can do without, and what does not work then. Without any other adapter, no session is enabled."""
_SCALAS_OWN = "scala.Serializable"
_MISSING = "missing.json"


class Adapters:
    """The compiled adapter classes of one JVM.

    Attributes:
        missing: the adapters that did not compile on this Spark version, by class name, with the reason.
    """

    _instances: WeakKeyDictionary[Jvm, Adapters] = WeakKeyDictionary()

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._classes: dict[str, JavaObject] = {}
        self.missing: dict[str, str] = {}

    @classmethod
    def of(cls, jvm: Jvm) -> Adapters:
        """Return the adapters of this JVM; the first call compiles them.

        Raises:
            SessionError: they do not compile, or the JVM cannot load them.
        """
        if jvm not in cls._instances:
            adapters = cls(jvm)
            if not jvm.has_class("bayou.Rule"):
                adapters._add_to_class_path()
            cls._instances[jvm] = adapters
        return cls._instances[jvm]

    @property
    def jvm(self) -> Jvm:
        """The JVM of the adapters."""
        return self._jvm

    def load(self, name: str) -> JavaObject:
        """Return the `java.lang.Class` of an adapter by its full name. Raise SessionError if it did not compile."""
        if name not in self._classes:
            if name.rpartition(".")[2] in self.missing:
                raise failed("adapter-not-compiled", adapter=name, reason=self.missing[name.rpartition(".")[2]])
            self._classes[name] = self._jvm.loader.loadClass(name)
        return self._classes[name]

    def has(self, name: str) -> bool:
        """Whether an adapter compiled, by its full name."""
        return name.rpartition(".")[2] not in self.missing

    def what_is_missing(self) -> str:
        """Return one sentence per reason why adapters did not compile, with the lost features; empty if all compiled."""
        sentences = []
        for reason in dict.fromkeys(self.missing.values()):
            names = [name for name, why in self.missing.items() if why == reason]
            effect = f"These do not work: {'; '.join(dict.fromkeys(_LOST_WITH[name] for name in names))}"
            who = f"bayou's Java adapters {', '.join(sorted(names))}"
            sentences.append(
                f"{who} do not compile on Spark {self._jvm.spark_version_text}: {reason}. {effect}. Next: {_NEXT_STEP}"
            )
        return " ".join(sentences)

    def new(self, name: str, *arguments: object) -> JavaObject:
        """Create an adapter object."""
        return self._jvm.construct(self.load(name), *arguments)

    def set_static(self, name: str, field: str, value: object) -> None:
        """Set a static field of an adapter: the Python object that it asks."""
        self.load(name).getField(field).set(None, value)

    def static(self, name: str) -> JavaObject:
        """Return an adapter by its full name, to call its static methods. Raise SessionError if it did not compile."""
        if not self.has(name):
            self.load(name)
        return self._jvm.static(name)

    def _add_to_class_path(self, cache: AdapterCache | None = None) -> Path:
        """Load the adapters from the cache, or compile them. Return the folder that was added to the class path."""
        cache = cache or AdapterCache()
        try:
            sources = self._sources()
            key = cache.key([*(f"{name}\n{text}" for name, text in sources.items()), *self._compiled_against()])
            folder = cache.get(key)
            if folder is None:
                made = self._compile(sources)
                folder = cache.put(key, made)
                if folder is None:
                    folder = made
                    self._delete_at_exit(made)
                else:
                    shutil.rmtree(made, ignore_errors=True)
            self.missing = _read_missing(folder)
            self._make_visible(folder)
        except Exception as error:
            java_exception = getattr(error, "java_exception", None)
            reason = java_exception.toString() if java_exception is not None else str(error) or type(error).__name__
            raise failed("adapters-not-loaded", reason=reason) from error
        return folder

    def catalog_over(self, parent: str) -> str:
        """Return the name of a `bayou.Catalog` on top of a foreign catalog; the first call compiles it.

        Args:
            parent: the class of the foreign catalog, which extends the session catalog.

        Raises:
            SessionError: it does not extend the session catalog, or cannot be extended.
        """
        name = f"CatalogOver{hashlib.sha256(parent.encode()).hexdigest()[:12]}"
        try:
            parent_class = self._jvm.loader.loadClass(parent)
            if not self._jvm.java_class(_EXTENSION).isAssignableFrom(parent_class):
                raise failed("catalog-interface", interface=_EXTENSION)
            loader = parent_class.getClassLoader()
            try:
                loader.loadClass(f"bayou.{name}")
            except FAILED_CALL:
                text = self._source("Catalog.java", self._placeholders() | {"PARENT": parent})
                text = re.sub(r"\bclass Catalog\b", f"class {name}", re.sub(r"\bCatalog\.class\b", f"{name}.class", text))
                folder = Path(tempfile.mkdtemp(prefix="bayou-adapters-"))
                try:
                    self._compile_once({f"{name}.java": text}, folder, self._jvm.loader)
                    self.static("bayou.Loading").define(str(folder), loader)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        except FAILED_CALL as error:
            raise failed("catalog-not-extended", reason=reason_of(error)) from error
        return f"bayou.{name}"

    def _make_visible(self, folder: Path) -> None:
        """Let each thread of Spark find the classes, and threads with the program's class loader also the services."""
        self._jvm.loader.addURL(self._jvm.static("java.io.File")(str(folder)).toURI().toURL())
        if not self.has("bayou.Loading"):
            return
        try:
            self._jvm.static("bayou.Loading").define(str(folder), self._jvm.java_class(_FILE_INDEX).getClassLoader())
        except Py4JJavaError as error:  # a JVM that does not open its class loaders
            _logger.debug("only threads with the program's class loader find the adapters: %s", error.java_exception.toString())

    def _sources(self) -> dict[str, str]:
        """Return the adapters' sources by file name, with this Spark's types in place of the placeholders."""
        names = self._placeholders()
        return {name: self._source(name, names) for name in sorted(adapter_texts())}

    def _placeholders(self) -> dict[str, str]:
        return {
            "SEQ": self._type_of_seq(),
            "SESSION": self._type_of_session(),
            "SINKLOG": self._jvm.java_class(*_SINK_LOG).getName(),
            "PARENT": _SPARKS_CATALOG,
            "CHANGELOG": self._known_or_object("Changelog"),
            "CHANGESASKED": self._known_or_object("ChangelogContext"),
            # Scala 2.12 has its own interface for it, and Spark requires that one.
            "SERIALIZABLE": _SCALAS_OWN if self._jvm.has_class(_SCALAS_OWN) else "java.io.Serializable",
        }

    def _known_or_object(self, name: str) -> str:
        """Return a type of Spark's catalogs, or Object on a Spark without it, which calls no method with that parameter."""
        qualified = f"org.apache.spark.sql.connector.catalog.{name}"
        return qualified if self._jvm.has_class(qualified) else "java.lang.Object"

    @staticmethod
    def _source(name: str, placeholders: Mapping[str, str]) -> str:
        text = adapter_texts()[name]
        for placeholder, meant in placeholders.items():
            text = re.sub(rf"\b{placeholder}\b", meant, text)
        return text

    def _compiled_against(self) -> list[str]:
        """Return what the compiled classes depend on: Spark's version and JARs, the JVM, and whether delta-spark is present."""
        jar = self._jvm.java_class(_FILE_INDEX).getProtectionDomain().getCodeSource().getLocation().getPath()
        system = self._jvm.static("java.lang.System")
        environment = [self._jvm.spark_version_text, jar, system.getProperty("java.version"), str(has_delta_spark(self._jvm))]
        with contextlib.suppress(OSError):
            facts = Path(jar).stat()
            environment.append(f"{facts.st_size} {facts.st_mtime_ns}")
        return environment

    def _compile(self, sources: Mapping[str, str]) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="bayou-adapters-"))
        try:
            missing = self._compile_all_that_fit(sources, folder)
            (folder / _MISSING).write_text(json.dumps(missing), encoding="utf-8")
            if not has_delta_spark(self._jvm):
                _register_source(folder)
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder

    def _compile_all_that_fit(self, sources: Mapping[str, str], folder: Path) -> dict[str, str]:
        """Compile the sources into a folder, except those that do not fit this Spark and those that use them.

        Returns:
            The omitted classes, each with the reason.
        """
        left = dict(sources)
        missing: dict[str, str] = {}
        while True:
            try:
                self._compile_once(left, folder)
            except Py4JJavaError as error:
                reason = str(error.java_exception.toString())
                unfit = unfit_sources(reason, left)
                omitted = {name.removesuffix(".java"): reason for name in unfit}
                if not unfit or not _LOST_WITH.keys() >= omitted.keys():
                    raise
                missing |= omitted
                left = {name: text for name, text in left.items() if name not in unfit}
            else:
                return missing

    def _compile_once(self, sources: Mapping[str, str], folder: Path, loader: JavaObject | None = None) -> None:
        """Compile sources into a folder, against the classes of a class loader, or against the class path without one."""
        static = self._jvm.static
        for old in folder.rglob("*.*"):
            old.unlink()
        for name, text in sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        compiler = static("org.codehaus.janino.CompilerFactory")().newCompiler()
        compiler.setDestinationDirectory(static("java.io.File")(str(folder)), False)
        if loader is not None:
            compiler.setIClassLoader(static("org.codehaus.janino.ClassLoaderIClassLoader")(loader))
        compiler.compile(self._jvm.array(static("java.io.File"), [static("java.io.File")(str(folder / name)) for name in sources]))

    def _delete_at_exit(self, folder: Path) -> None:
        # Classes are loaded at first use, so the folder stays as long as the JVM. Java deletes in reverse order of registration.
        for file in [folder, *sorted(folder.rglob("*"))]:
            self._jvm.static("java.io.File")(str(file)).deleteOnExit()

    def _type_of_seq(self) -> str:
        # Scala's Seq is another class in 2.12 than in 2.13: the return type of a method shows which.
        none = self._jvm.gateway.new_array(self._jvm.static("java.lang.Class"), 0)
        name: str = self._jvm.java_class(_FILE_INDEX).getMethod("rootPaths", none).getReturnType().getName()
        return name

    def _type_of_session(self) -> str:
        none = self._jvm.gateway.new_array(self._jvm.static("java.lang.Class"), 0)
        name: str = self._jvm.java_class(_HADOOP_FS_RELATION).getMethod("sparkSession", none).getReturnType().getName()
        return name


def unfit_sources(reason: str, sources: Mapping[str, str]) -> set[str]:
    """Return the file names of sources that do not compile, and of those that use them, directly or indirectly.

    Args:
        reason: Janino's message, for example `File '/tmp/x/Catalog.java', Line 82, Column 9: ...`.
    """
    named = re.search(r"File '[^']*?([^'/\\\\]+\.java)'", reason)
    unfit = {named[1]} & set(sources) if named else set()
    while True:
        classes = "|".join(re.escape(name.removesuffix(".java")) for name in unfit)
        more = {name for name, text in sources.items() if unfit and re.search(rf"\b(?:{classes})\b", _code(text))} - unfit
        if not more:
            return unfit
        unfit |= more


def _code(text: str) -> str:
    """Return a source without comments, imports, strings and qualified names: a Spark class may have an adapter's simple name."""
    qualified = r"\b(?!bayou\b|delta\b)[a-z]\w*(?:\.\w+)*\.[A-Z]\w*"
    return re.sub(rf'//[^\n]*|^import [^\n]*|"(?:[^"\\]|\\.)*"|{qualified}', "", text, flags=re.MULTILINE)


def _read_missing(folder: Path) -> dict[str, str]:
    file = folder / _MISSING
    missing: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return missing


def has_delta_spark(jvm: Jvm) -> bool:
    """Whether delta-spark's data source is on the class path."""
    return jvm.has_class("org.apache.spark.sql.delta.sources.DeltaDataSource")


@cache
def adapter_texts() -> dict[str, str]:
    """Return the adapters' stored sources, with placeholders, by file name. Their folders are for readers only."""
    folders = [each for each in resources.files(_SOURCES).iterdir() if each.is_dir()]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".java")]
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def _register_source(folder: Path) -> None:
    """Register the source by its short name in any case (`USING DELTA`)."""
    services = folder / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.spark.sql.sources.DataSourceRegister").write_text("delta.DefaultSource\n", encoding="utf-8")


def described(jvm: Jvm, condition: JavaObject) -> str:
    """Return a condition as Catalyst's JSON. Constant dates and timestamps are the numbers that Spark stores for them."""
    text: str = jvm.static("bayou.Plans").describe(condition)
    return text
