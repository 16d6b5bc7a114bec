// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.function.BiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

// Relations from texts: each of these calls would be twenty through py4j.
public class Tables {
  private static StructType schema(String json) { return (StructType) org.apache.spark.sql.types.DataType.fromJson(json); }

  private static SEQ paths(String root, int times) {
    return org.apache.spark.api.python.PythonUtils.toSeq(java.util.Collections.nCopies(times, new Path(root)));
  }

  // Options, as name, value, name, value... behind one another, each ended by NUL.
  private static Map options(String text) {
    java.util.HashMap map = new java.util.HashMap();
    String[] parts = text.split("\0", -1);
    for (int i = 0; i + 1 < parts.length; i += 2) map.put(parts[i], parts[i + 1]);
    return org.apache.spark.api.python.PythonUtils.toScalaMap(map);
  }

  // Spark inserts by itself only into a relation with exactly one path; with two it refuses, or comes to `insert`. Spark 3.5 and
  // 4.2 take what an INSERT reads of a table for the table that it is into: then it has the defaults that Spark fills in.
  public static HadoopFsRelation bare(String key, String table, String message, String root, String partitions, String columns, String filled, String size, boolean tracksRows, Object given, SESSION session) {
    boolean inserts = StatementText.isInsert(CurrentOrigin.get());
    FileIndex refusing = new Refusing(message, table, paths(root, 2), schema(partitions), size);
    ParquetFileFormat format = tracksRows ? new RowTrackingFormat() : new ParquetFileFormat();
    return new DeltaTable(new TableKey(key), inserts, refusing, schema(partitions), schema(inserts ? filled : columns), format, given instanceof Map ? (Map) given : options((String) given), session);
  }

  public static LogicalRelation files(String key, String root, String partitions, String columns, String size, String options, BiFunction list, SESSION session, boolean streaming, String pinned, boolean exact) throws Exception {
    FileIndex index = new DeltaLogFiles(key, paths(root, 1), schema(partitions), size, list);
    HadoopFsRelation relation = new HadoopFsRelation(index, schema(partitions), schema(columns), scala.Option.empty(),
        exact ? new ExactFormat() : new ParquetFileFormat(), options(options), PinnedSettings.of(session, pinned));
    return LogicalRelation$.MODULE$.apply(relation, streaming);
  }
}
