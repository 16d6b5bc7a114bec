// SPDX-License-Identifier: Apache-2.0
package bayou;

// The position of a stream, as the JSON that Spark stores in the query's checkpoint. Offsets with the same JSON are equal.
public class StreamOffset extends org.apache.spark.sql.execution.streaming.Offset {
  private final String text;

  public StreamOffset(String text) { this.text = text; }

  public String json() { return text; }
}
