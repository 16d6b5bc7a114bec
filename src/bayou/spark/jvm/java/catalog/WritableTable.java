// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.EnumSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

// A named table as the target of a write. It accepts rows of any columns: Python aligns them by Spark's own rules.
public class WritableTable implements SupportsWrite {
  public static BiFunction body;

  protected final String name;
  private final boolean isFrame;
  private String[] facts;

  public WritableTable(String name, boolean isFrame) {
    this.name = name;
    this.isFrame = isFrame;
  }

  public String name() { return name; }

  // Its schema as JSON, then its partition columns.
  private synchronized String[] facts() {
    if (facts == null) facts = ((String) ask("columns\0" + name + "\0", null)).split("\0");
    return facts;
  }

  // Spark checks whether a table is cached before it replaces it, up to 4.0 by its columns. Its files may be gone by then.
  public StructType schema() {
    if (Callers.include("AtomicReplaceTableAsSelectExec", "")) return new StructType();
    return (StructType) org.apache.spark.sql.types.DataType.fromJson(facts()[0]);
  }

  public Transform[] partitioning() {
    Transform[] found = new Transform[facts().length - 1];
    for (int i = 0; i < found.length; i++) found[i] = Expressions.identity(quoted(facts()[i + 1]));
    return found;
  }

  public Set capabilities() {
    Set found = EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER, TableCapability.OVERWRITE_DYNAMIC);
    found.add(TableCapability.ACCEPT_ANY_SCHEMA);
    return found;
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return new Rows(this, pairs(info.options().asCaseSensitiveMap(), 'o')); }

  protected void write(Rows rows, Dataset data) {
    boolean isNoted = !rows.columns.isEmpty();  // by the rule, if the session has it
    String columns = isFrame && (isNoted || !rows.what.equals("replace")) ? "frame" : rows.columns;
    ask("write\0" + name + "\0" + rows.what + "\0" + rows.condition + "\0" + columns + "\0" + rows.options, data);
  }

  public static Object ask(String text, Dataset data) {
    Object session = data == null ? (Object) org.apache.spark.sql.SparkSession.active() : data.sparkSession();
    return Python.ask(body, text, new Object[] {session, data});
  }

  public static String quoted(String name) { return "`" + name.replace("`", "``") + "`"; }

  static String pairs(Map map, char kind) {
    StringBuilder text = new StringBuilder();
    for (Iterator i = map.entrySet().iterator(); i.hasNext();) {
      Map.Entry entry = (Map.Entry) i.next();
      text.append(kind).append(entry.getKey()).append('\0').append(entry.getValue()).append('\0');
    }
    return text.toString();
  }

  // One write. What it does with existing rows is known only when it runs.
  public static class Rows implements V1Write, SupportsTruncate, SupportsOverwriteV2, SupportsDynamicOverwrite {
    private final WritableTable table;
    protected String options;
    private String what = "append";
    private String condition = "";
    private String columns = "";

    public Rows(WritableTable table, String options) {
      this.table = table;
      this.options = options;
    }

    public Write build() { return this; }

    // Facts that only the statement has: how columns are matched, whether the table gets columns that it lacks, and the SQL of its
    // condition.
    void note(boolean byName, boolean evolves, String condition) {
      if (evolves) this.options += "omergeSchema\0true\0";
      this.columns = byName ? "name" : "position";
      this.condition = condition;
    }

    public WriteBuilder truncate() { what = "overwrite"; return this; }

    public WriteBuilder overwrite(Predicate[] predicates) { what = "replace"; return this; }

    public WriteBuilder overwriteDynamicPartitions() { what = "dynamic"; return this; }

    public InsertableRelation toInsertableRelation() { return relation(); }

    public Relation relation() { return new Relation(this); }
  }

  // The relation for Spark's older commands, which insert into relations.
  public static class Relation extends BaseRelation implements InsertableRelation {
    private final Rows rows;

    public Relation(Rows rows) { this.rows = rows; }

    public org.apache.spark.sql.SQLContext sqlContext() { return org.apache.spark.sql.SparkSession.active().sqlContext(); }

    public StructType schema() { return rows.table.schema(); }

    public void insert(Dataset data, boolean overwrite) { rows.table.write(rows, data); }
  }
}
