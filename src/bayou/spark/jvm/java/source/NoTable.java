// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.StructType;

// A table that supports nothing. With it Spark falls back from its newer data source interface to the one that bayou implements.
public class NoTable implements Table {
  private final StructType schema;

  public NoTable(StructType schema) { this.schema = schema; }

  public String name() { return "delta"; }

  public StructType schema() { return schema; }

  public Set capabilities() { return new HashSet(); }
}
