// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.UndeclaredThrowableException;
import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.unsafe.Platform;

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
    try {
      body.apply(batch + "\0" + query, data);
    } catch (UndeclaredThrowableException wrapped) {  // around what a job failed with; it says nothing, and Spark 3.5 tells only that
      Throwable error = wrapped;
      while (error instanceof UndeclaredThrowableException) error = error.getCause();
      Platform.throwException(error);
    }
  }

  public String toString() { return name; }
}
