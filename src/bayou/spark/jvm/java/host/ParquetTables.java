// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;
import scala.collection.Iterator;

// Spark's view of Parquet tables: many answers in one call, each ended by NUL.
public final class ParquetTables {
  private ParquetTables() {}

  // The schemas that Spark derives from the Parquet types of files: JSON, or a question mark and the error.
  public static String schemas(String files, final SQLConf settings, final Configuration conf, int threads) throws Exception {
    ArrayList calls = new ArrayList();
    String[] uris = files.split("\0");
    for (int i = 0; i < uris.length; i++) {
      final String uri = uris[i];
      calls.add(new Callable() { public Object call() { return schema(uri, settings, conf); } });
    }
    StringBuilder text = new StringBuilder();
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(threads, calls.size()));
    try {
      List answers = pool.invokeAll(calls);
      for (int i = 0; i < answers.size(); i++) text.append((String) ((Future) answers.get(i)).get()).append('\0');
    } finally { pool.shutdown(); }
    return text.toString();
  }

  private static String schema(String uri, SQLConf settings, Configuration conf) {
    try {
      ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(new Path(uri), conf));
      try {
        MessageType found = reader.getFileMetaData().getSchema();
        return new ParquetToSparkSchemaConverter(settings).convert(found).json();
      } finally { reader.close(); }
    } catch (Throwable error) { return "?" + error.getMessage(); }
  }

  // The partitions of a catalog table: the location, or an empty string, then each column and its value.
  public static String partitions(SEQ partitions, int columns) {
    StringBuilder text = new StringBuilder();
    Iterator each = partitions.iterator();
    while (each.hasNext()) {
      CatalogTablePartition partition = (CatalogTablePartition) each.next();
      if (partition.storage().locationUri().isDefined())
        text.append(new Path((java.net.URI) partition.storage().locationUri().get()).toString());
      text.append('\0');
      Iterator pairs = partition.spec().iterator();
      while (pairs.hasNext()) {
        Tuple2 pair = (Tuple2) pairs.next();
        text.append((String) pair._1()).append('\0').append((String) pair._2()).append('\0');
      }
    }
    return text.toString();
  }
}
