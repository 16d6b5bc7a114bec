// SPDX-License-Identifier: Apache-2.0
package delta;

import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.SchemaRelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

// The data source `delta`, which Spark finds by its name. Every call goes to one Python object.
// It is a FileFormat, because SQL by path accepts nothing else, and the binary one, because ALTER TABLE ADD COLUMNS refuses that.
public class DefaultSource extends org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat
    implements RelationProvider, SchemaRelationProvider, CreatableRelationProvider, DataSourceRegister, TableProvider,
    StreamSourceProvider, StreamSinkProvider {
  public static BiFunction body;

  // Passes the kind of call and the options as one string, each ended by NUL, because every step through py4j costs; then the objects.
  private static Object call(String what, scala.collection.immutable.Map options, Object[] objects) {
    // Spark's map finds an option in any case and returns its name in lower case, but the case of table properties matters.
    if (options instanceof CaseInsensitiveMap) options = ((CaseInsensitiveMap) options).originalMap();
    StringBuilder text = new StringBuilder(what).append('\0');
    for (scala.collection.Iterator i = options.iterator(); i.hasNext();) {
      scala.Tuple2 option = (scala.Tuple2) i.next();
      if ((option._1() + "" + option._2()).indexOf('\0') >= 0)
        throw new IllegalArgumentException("The option '" + option._1() + "' contains NUL, which neither a path nor a value may contain.");
      text.append(option._1()).append('\0').append(option._2()).append('\0');
    }
    return bayou.Python.ask(body, text.toString(), objects);
  }

  public String shortName() { return "delta"; }

  // The table's own rules refuse types that it cannot have, with a reason.
  public boolean supportDataType(org.apache.spark.sql.types.DataType type) { return true; }

  public boolean supportsDataType(org.apache.spark.sql.types.DataType type) { return true; }  // from Spark 4.0 on

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    return (BaseRelation) call("read", options, new Object[] {context.sparkSession(), options, null, CurrentOrigin.get()});
  }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options, StructType schema) {
    return (BaseRelation) call("read", options, new Object[] {context.sparkSession(), options, schema.json(), CurrentOrigin.get()});
  }

  public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset data) {
    return (BaseRelation) call("write", options, new Object[] {context.sparkSession(), mode.name(), data});
  }

  public scala.Tuple2 sourceSchema(SQLContext context, scala.Option schema, String name, scala.collection.immutable.Map options) {
    return new scala.Tuple2("delta", DataType.fromJson((String) call("stream schema", options, new Object[] {context.sparkSession(), schema.isDefined() ? ((StructType) schema.get()).json() : null})));
  }

  public Source createSource(SQLContext context, String checkpoint, scala.Option schema, String name, scala.collection.immutable.Map options) {
    return (Source) call("source", options, new Object[] {context.sparkSession(), checkpoint});
  }

  public Sink createSink(SQLContext context, scala.collection.immutable.Map options, SEQ partitions, OutputMode mode) {
    return (Sink) call("sink", options, new Object[] {partitions, mode.toString()});
  }

  // Statements on named tables reach bayou.Catalog because this is a TableProvider. Its table supports nothing, so Spark falls back to
  // the relations above.
  public Table getTable(StructType schema, Transform[] partitions, java.util.Map options) { return new bayou.NoTable(schema); }

  public StructType inferSchema(CaseInsensitiveStringMap options) { return new StructType(); }

  // A reader may have a schema. For a writer Spark would parse the names of its partition columns.
  public boolean supportsExternalMetadata() { return !bayou.Callers.include("DataFrameWriter", ""); }
}
