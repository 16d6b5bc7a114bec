// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.function.BiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;

// A FileIndex whose files Python names. Two with the same key list the same files, so caches and exchanges are shared.
public class DeltaLogFiles implements FileIndex {
  private final String key;
  private final SEQ roots;
  private final StructType partitions;
  private final long size;
  private final BiFunction list;

  public DeltaLogFiles(String key, SEQ roots, StructType partitions, String size, BiFunction list) {
    this.key = key;
    this.roots = roots;
    this.partitions = partitions;
    this.size = Long.parseLong(size);
    this.list = list;
  }

  public SEQ rootPaths() { return roots; }

  public SEQ listFiles(SEQ partitionFilters, SEQ dataFilters) { return (SEQ) Python.ask(list, partitionFilters, dataFilters); }

  public String[] inputFiles() { return (String[]) Python.ask(list, null, null); }

  public void refresh() {}

  public long sizeInBytes() { return size; }

  public StructType partitionSchema() { return partitions; }

  public int hashCode() { return key.hashCode(); }

  public boolean equals(Object other) { return other instanceof DeltaLogFiles && ((DeltaLogFiles) other).key.equals(key); }

  public String toString() { return key; }
}
