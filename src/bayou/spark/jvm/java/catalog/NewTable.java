// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

// A table that a statement creates or replaces, with or without rows. Python creates it in one commit, at the end.
public class NewTable extends WritableTable implements StagedTable {
  private static final ThreadLocal IF_ABSENT = new ThreadLocal();
  private final String what;
  private final String schema;
  private final String partitions;
  private final String properties;
  private String options = "";
  private Dataset data;

  public NewTable(String what, String name, String schema, String partitions, Map properties) {
    super(name, true);
    this.what = what.equals("create") && Boolean.TRUE.equals(IF_ABSENT.get()) ? "createIfNotExists" : what;
    IF_ABSENT.remove();
    this.schema = schema;
    this.partitions = partitions;
    this.properties = pairs(properties, 'p');
  }

  // Notes a statement that creates a table before it runs on this thread, because Spark does not pass IF NOT EXISTS on to a catalog.
  static void note(TreeNode plan) {
    if (!plan.nodeName().equals("CreateTable") && !plan.nodeName().equals("CreateTableAsSelect")) return;
    try {
      IF_ABSENT.set(plan.getClass().getMethod("ignoreIfExists", new Class[0]).invoke(plan, new Object[0]));
    } catch (ReflectiveOperationException unknown) {
      IF_ABSENT.remove();
    }
  }

  public StructType schema() { return (StructType) org.apache.spark.sql.types.DataType.fromJson(schema); }

  public Transform[] partitioning() { return new Transform[0]; }

  protected void write(Rows rows, Dataset data) {
    this.options = rows.options;
    this.data = data;
  }

  public void commitStagedChanges() {
    ask("make\0" + name + "\0" + what + "\0" + Callers.writer() + "\0" + schema + "\0" + partitions + "\0" + properties + options, data);
  }

  public void abortStagedChanges() {}
}
