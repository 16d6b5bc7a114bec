// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.function.BiConsumer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

// The relation that the data source returns: the table's name and schema. The optimizer rule replaces it by the real scan.
// INSERT calls `insert`, because this is an InsertableRelation. Its index refuses to list files, so nothing reads past the log.
public class DeltaTable extends HadoopFsRelation implements InsertableRelation {
  public static BiConsumer inserter;
  private static final StructType NO_PARTITIONS = new StructType();
  private final TableKey key;
  private final boolean inserts;

  public DeltaTable(TableKey key, boolean inserts, FileIndex refusing, StructType partitions, StructType schema, FileFormat format, Map options, SESSION session) {
    super(refusing, partitions, schema, scala.Option.empty(), format, options, session);
    this.key = key;
    this.inserts = inserts;
  }

  // Spark copies relations to prune them or to change their options. A copy must still be a table.
  public HadoopFsRelation copy(FileIndex index, StructType partitions, StructType schema, scala.Option buckets, FileFormat format, Map options, SESSION session) {
    return new DeltaTable(key, inserts, index, partitions, schema, format, options, session);
  }

  // The same table at one version, as `request` says.
  DeltaTable at(String request, String version) {
    return new DeltaTable(key.at(version), false, ((Refusing) location()).of(request), super.partitionSchema(), dataSchema(), fileFormat(), options(), (SESSION) sparkSession());
  }

  // Spark calls `insert` only for a table without partitions. All other callers, such as dynamic pruning, get the table's.
  public StructType partitionSchema() { return inserts && Callers.include("PreprocessTableInsertion", "") ? NO_PARTITIONS : super.partitionSchema(); }

  public void insert(Dataset data, boolean overwrite) { Python.tell(inserter, ((Refusing) location()).table(), new Object[] {data, Boolean.valueOf(overwrite)}); }

  // With overlapping columns Spark stores no schema in a catalog entry, and asks the table for it each time.
  public Map overlappedPartCols() { return new scala.collection.immutable.Map.Map1("path", key.toString()); }

  public int hashCode() { return key.code(); }

  // A cache matches columns by position, so the comparison includes their names.
  public boolean equals(Object other) {
    return other instanceof DeltaTable && ((DeltaTable) other).key.isSame(key) && ((DeltaTable) other).schema().catalogString().equals(schema().catalogString());
  }

  public boolean canEqual(Object other) { return other instanceof DeltaTable; }

  public String toString() { return key.toString(); }
}
