// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.HashMap;
import java.util.Optional;
import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.types.StructType;

// A table as the source of a stream. Every call goes to one Python object; offsets are strings.
public class StreamSource implements Source, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final int number;
  private final String name;
  private final StructType schema;
  private final BiFunction body;

  public StreamSource(int number, String name, String schema, BiFunction body) {
    this.number = number;
    this.name = name;
    this.schema = (StructType) org.apache.spark.sql.types.DataType.fromJson(schema);
    this.body = body;
  }

  // By this number Python finds its source in a query's plan.
  public int number() { return number; }

  private static String json(Object offset) { return offset == null ? "" : ((Offset) offset).json(); }

  private static StreamOffset offset(Object text) { return text == null ? null : new StreamOffset((String) text); }

  private Object call(String what, String first, String second) { return Python.ask(body, Python.message(new String[] {what, first, second}), null); }

  public StructType schema() { return schema; }

  public Offset initialOffset() { throw new UnsupportedOperationException("the first batch has no start"); }

  public Offset deserializeOffset(String json) { return new StreamOffset(json); }

  // The options set the limits; Spark only decides whether they apply.
  public ReadLimit getDefaultReadLimit() { return new ReadLimit() {}; }

  public Offset latestOffset(Offset start, ReadLimit limit) {
    return offset(call("latest", json(start), limit instanceof ReadAllAvailable ? "all" : ""));
  }

  public scala.Option getOffset() { throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) should be called instead of this method"); }

  // A restarted query asks for the batch that it committed last, and drops it. Only what is known by then is checked.
  public Dataset getBatch(scala.Option start, org.apache.spark.sql.execution.streaming.Offset end) {
    boolean isOld = Callers.include("MicroBatchExecution", "populateStartOffsets");
    return (Dataset) call(isOld ? "resume" : "batch", start.isDefined() ? json(start.get()) : "", json(end));
  }

  public void commit(org.apache.spark.sql.execution.streaming.Offset end) { call("commit", "", json(end)); }

  public void commit(Offset end) { call("commit", "", json(end)); }

  public void prepareForTriggerAvailableNow() { call("fix", "", ""); }

  public java.util.Map metrics(Optional latest) {
    HashMap found = new HashMap();
    String[] parts = ((String) call("metrics", latest.isPresent() ? json(latest.get()) : "", "")).split(" ");
    for (int i = 0; i + 1 < parts.length; i += 2) found.put(parts[i], parts[i + 1]);
    return found;
  }

  public void stop() {}  // nothing is open

  public String toString() { return name; }
}
