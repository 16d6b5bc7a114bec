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

// Creates relations from strings. Each of these calls would be twenty through py4j.
public class Tables {
  private static StructType schema(String json) { return (StructType) org.apache.spark.sql.types.DataType.fromJson(json); }

  private static SEQ paths(String root, int times) {
    return org.apache.spark.api.python.PythonUtils.toSeq(java.util.Collections.nCopies(times, new Path(root)));
  }

  // Options as name, value, name, value..., each ended by NUL.
  private static Map options(String text) {
    java.util.HashMap map = new java.util.HashMap();
    String[] parts = text.split("\0", -1);
    for (int i = 0; i + 1 < parts.length; i += 2) map.put(parts[i], parts[i + 1]);
    return org.apache.spark.api.python.PythonUtils.toScalaMap(map);
  }

  // Spark's INSERT accepts only a relation with exactly one path; with two it refuses, or calls `insert`. Spark 3.5 and 4.2 confuse a table
  // that an INSERT reads with its target, so it then has the defaults that Spark fills in.
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
