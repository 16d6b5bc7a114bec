// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

// Parquet files for a row change. The reader gets no filter with which Parquet may drop a row that Spark's own filter keeps.
public class ExactFormat extends ParquetFileFormat {
  // The replacement for bytes that are not UTF-8 in a Java string.
  private static final String REPLACED = "\uFFFD";
  // Spark passes days and instants in the calendar of java.util.Date, which differs before 1582, and in zones that differ before 1900.
  private static final long OLDEST = -2208988800000L;

  public Function1 buildReaderWithPartitionValues(SparkSession session, StructType data, StructType partitions, StructType required, SEQ filters, Map options, Configuration configuration) {
    ArrayList kept = new ArrayList();
    for (Iterator i = filters.iterator(); i.hasNext();) {
      Object filter = i.next();
      if (isExact(filter)) kept.add(filter);
    }
    // Tasks get the reader with the format that created it, and do not know bayou's classes.
    return new ParquetFileFormat().buildReaderWithPartitionValues(session, data, partitions, required, org.apache.spark.api.python.PythonUtils.toSeq(kept), options, configuration);
  }

  // Whether a filter, or a value in one, means the same to Parquet as to Spark. To Spark -0.0 equals 0.0, and NaN is greater than any
  // number; other writers omit NaN from the bounds in their files. Files of milliseconds are compared with milliseconds.
  private static boolean isExact(Object part) {
    if (part instanceof Double || part instanceof Float) return false;
    if (part instanceof String) return ((String) part).indexOf(REPLACED) < 0;
    if (part instanceof Instant) return ((Instant) part).getNano() % 1000000 == 0;
    if (part instanceof Date) return ((Date) part).getTime() >= OLDEST && !(part instanceof java.sql.Timestamp && ((java.sql.Timestamp) part).getNanos() % 1000000 != 0);
    if (part instanceof Object[]) {
      Object[] values = (Object[]) part;
      for (int i = 0; i < values.length; i++) if (!isExact(values[i])) return false;
      return true;
    }
    if (!(part instanceof scala.Product)) return true;
    for (Iterator i = ((scala.Product) part).productIterator(); i.hasNext();) if (!isExact(i.next())) return false;
    return true;
  }
}
