# SPDX-License-Identifier: Apache-2.0
"""Session catalogs of somebody else's, compiled on the JVM: as table formats bring them, on top of Spark's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = "org.example.catalogs"
_HEAD = """
package org.example.catalogs;

import java.util.*;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
"""
_NOTES = """
  public static final List notes = Collections.synchronizedList(new ArrayList());
  public void initialize(String name, CaseInsensitiveStringMap options) {
    notes.add("initialize " + options.get("mark"));
    super.initialize(name, options);
  }
"""
SOURCES = {
    # Extends Spark's class, and makes tables by their columns.
    "Delegating": """
public class Delegating extends DelegatingCatalogExtension implements Extra {
  NOTES
  public Table createTable(Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception {
    notes.add("create " + properties.get("provider"));
    return super.createTable(name, columns, partitions, properties);
  }
  public Table loadTable(Identifier name) throws Exception { notes.add("load " + name.name()); return super.loadTable(name); }
}
""",
    # Has Spark's staging interface, and makes tables by a schema only.
    "Staging": """
public class Staging extends DelegatingCatalogExtension implements StagingTableCatalog, Extra {
  NOTES
  public Table createTable(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception {
    notes.add("create " + properties.get("provider"));
    return super.createTable(name, schema, partitions, properties);
  }
  public StagedTable stageCreate(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception {
    return staged(name, schema, partitions, properties, false);
  }
  public StagedTable stageReplace(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception {
    return staged(name, schema, partitions, properties, true);
  }
  public StagedTable stageCreateOrReplace(Identifier name, StructType schema, Transform[] partitions, Map properties)
      throws Exception {
    return staged(name, schema, partitions, properties, tableExists(name));
  }
  private StagedTable staged(Identifier name, StructType schema, Transform[] partitions, Map properties, boolean drops)
      throws Exception {
    notes.add("stage " + properties.get("provider"));
    if (drops) dropTable(name);
    return new bayou.OtherTable(this, name, super.createTable(name, schema, partitions, properties));
  }
}
""",
    # Has what Spark's interfaces ask for, and nothing else.
    "Plain": """
public class Plain implements CatalogExtension, TableCatalog, SupportsNamespaces, Extra {
  public static final List notes = Collections.synchronizedList(new ArrayList());
  private CatalogPlugin there;
  private TableCatalog tables() { return (TableCatalog) there; }
  private FunctionCatalog functions() { return (FunctionCatalog) there; }
  public Identifier[] listFunctions(String[] namespace) throws Exception { return functions().listFunctions(namespace); }
  public UnboundFunction loadFunction(Identifier name) throws Exception { return functions().loadFunction(name); }
  private SupportsNamespaces namespaces() { return (SupportsNamespaces) there; }
  public void initialize(String name, CaseInsensitiveStringMap options) { notes.add("initialize " + options.get("mark")); }
  public void setDelegateCatalog(CatalogPlugin given) { there = given; }
  public String name() { return there.name(); }
  public String[] defaultNamespace() { return there.defaultNamespace(); }
  public Identifier[] listTables(String[] namespace) throws Exception { return tables().listTables(namespace); }
  public Table loadTable(Identifier name) throws Exception { return tables().loadTable(name); }
  public Table createTable(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception {
    notes.add("create " + properties.get("provider"));
    return tables().createTable(name, schema, partitions, properties);
  }
  public Table alterTable(Identifier name, TableChange[] changes) throws Exception { return tables().alterTable(name, changes); }
  public boolean dropTable(Identifier name) { return tables().dropTable(name); }
  public void renameTable(Identifier old, Identifier name) throws Exception { tables().renameTable(old, name); }
  public String[][] listNamespaces() throws Exception { return namespaces().listNamespaces(); }
  public String[][] listNamespaces(String[] namespace) throws Exception { return namespaces().listNamespaces(namespace); }
  public Map loadNamespaceMetadata(String[] namespace) throws Exception {
    return namespaces().loadNamespaceMetadata(namespace);
  }
  public void createNamespace(String[] namespace, Map metadata) throws Exception {
    namespaces().createNamespace(namespace, metadata);
  }
  public void alterNamespace(String[] namespace, NamespaceChange[] changes) throws Exception {
    namespaces().alterNamespace(namespace, changes);
  }
  public boolean dropNamespace(String[] namespace, boolean all) throws Exception {
    return namespaces().dropNamespace(namespace, all);
  }
}
""",
    "Sealed": "public final class Sealed extends DelegatingCatalogExtension { }",
    # No extension: a catalog on its own.
    "Alone": """
public class Alone implements CatalogPlugin {
  public void initialize(String name, CaseInsensitiveStringMap options) { }
  public String name() { return "spark_catalog"; }
}
""",
    "Extra": "public interface Extra { }",
}


def compile_catalogs(spark: SparkSession, folder: Path) -> None:
    """Puts the catalogs on the class path, where they are not yet."""
    jvm = Jvm.of(spark)
    files = []
    for name, text in SOURCES.items():
        file = folder / f"{name}.java"
        file.write_text(_HEAD + text.replace("NOTES", _NOTES), encoding="utf-8")
        files.append(jvm.static("java.io.File")(str(file)))
    compiler = jvm.static("org.codehaus.janino.CompilerFactory")().newCompiler()
    compiler.setDestinationDirectory(jvm.static("java.io.File")(str(folder)), False)
    compiler.setIClassLoader(jvm.static("org.codehaus.janino.ClassLoaderIClassLoader")(jvm.loader))
    compiler.compile(jvm.array(jvm.static("java.io.File"), files))
    jvm.loader.addURL(jvm.static("java.io.File")(str(folder)).toURI().toURL())


def session_with(spark: SparkSession, catalog: str, **options: str) -> SparkSession:
    """A session, not enabled, whose own catalog is one of these."""
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", f"{PACKAGE}.{catalog}")
    for name, value in options.items():
        session.conf.set(f"spark.sql.catalog.spark_catalog.{name}", value)
    return session


def notes_of(spark: SparkSession, catalog: str) -> list[str]:
    """What a catalog was asked for."""
    found = Jvm.of(spark).loader.loadClass(f"{PACKAGE}.{catalog}").getField("notes").get(None)
    return [str(each) for each in found]
