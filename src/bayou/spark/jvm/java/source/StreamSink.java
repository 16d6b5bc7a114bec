// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.execution.streaming.Sink;

// A table as the sink of a stream. Each batch goes to one Python object.
public class StreamSink implements Sink {
  private final String name;
  private final BiFunction body;

  public StreamSink(String name, BiFunction body) {
    this.name = name;
    this.body = body;
  }

  public void addBatch(long batch, Dataset data) {
    String query = data.sparkSession().sparkContext().getLocalProperty("sql.streaming.queryId");
    Python.ask(body, Python.message(new String[] {"batch", "" + batch, query}), data);
  }

  public String toString() { return name; }
}
