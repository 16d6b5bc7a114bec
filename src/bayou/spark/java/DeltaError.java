// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.SparkThrowable;

// An error of bayou's on its way through the JVM; `key` names the Python exception that the user shall see. What runs in the JVM,
// as the handlers of a script, is told its class and its state, which are null where it has none.
public class DeltaError extends IllegalArgumentException implements SparkThrowable {
  private final String key;
  private final String condition;
  private final String state;

  public DeltaError(String message, String key, String condition, String state) {
    super(message);
    this.key = key;
    this.condition = condition;
    this.state = state;
  }

  public String getCondition() { return condition; }

  public String getErrorClass() { return condition; }  // its name before Spark 4.0

  public String getSqlState() { return state; }

  public String key() { return key; }
}
