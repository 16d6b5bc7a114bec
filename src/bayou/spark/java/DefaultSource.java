// SPDX-License-Identifier: Apache-2.0
package delta;

import java.util.*;
import java.util.function.BiFunction;
import org.apache.spark.sql.*;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.sources.*;

// The data source `delta`. Spark finds it by its name; every call goes to one Python object.
// A FileFormat, because SQL by path takes nothing else; the binary one, because ALTER TABLE ADD COLUMNS refuses that.
public class DefaultSource extends org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat
    implements RelationProvider, SchemaRelationProvider, CreatableRelationProvider, DataSourceRegister {
  public static BiFunction body;

  private static Object call(String what, Object[] arguments) {
    return body.apply(what, new ArrayList(Arrays.asList(arguments)));
  }

  public String shortName() { return "delta"; }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    return (BaseRelation) call("read", new Object[] {context.sparkSession(), options, null, CurrentOrigin.get()});
  }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options, org.apache.spark.sql.types.StructType schema) {
    return (BaseRelation) call("read", new Object[] {context.sparkSession(), options, schema, CurrentOrigin.get()});
  }

  public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset data) {
    return (BaseRelation) call("write", new Object[] {context.sparkSession(), options, mode.name(), data});
  }
}
