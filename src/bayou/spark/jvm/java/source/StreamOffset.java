// SPDX-License-Identifier: Apache-2.0
package bayou;

// How far a stream has read, as the JSON that Spark keeps in the query's checkpoint. Two with one text are one.
public class StreamOffset extends org.apache.spark.sql.execution.streaming.Offset {
  private final String text;

  public StreamOffset(String text) { this.text = text; }

  public String json() { return text; }
}
