// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;

// The index of a relation that only the optimizer rule may complete: without the rule a query is an error, never a wrong row.
// It holds the request for the table: Spark copies relations, to prune them or to change their options, and keeps the index.
public class Refusing implements FileIndex {
  private final String message;
  private final String table;
  private final SEQ roots;
  private final StructType partitions;
  private final long size;

  public Refusing(String message, String table, SEQ roots, StructType partitions, String size) {
    this.message = message;
    this.table = table;
    this.roots = roots;
    this.partitions = partitions;
    this.size = Long.parseLong(size);
  }

  public String table() { return table; }

  Refusing of(String other) { return new Refusing(message, other, roots, partitions, String.valueOf(size)); }

  public SEQ rootPaths() { return roots; }

  public SEQ listFiles(SEQ partitionFilters, SEQ dataFilters) { throw new DeltaError(message, "refusing"); }

  public String[] inputFiles() { throw new DeltaError(message, "refusing"); }

  public void refresh() {}

  public long sizeInBytes() { return size; }

  public StructType partitionSchema() { return partitions; }
}
