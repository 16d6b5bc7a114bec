// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.SparkThrowable;

// An error of bayou with a class and an SQLSTATE, neither of them null. The handlers of a script match by them.
public class NamedError extends DeltaError implements SparkThrowable {
  private final String condition;
  private final String state;

  public NamedError(String message, String key, String condition, String state) {
    super(message, key);
    this.condition = condition;
    this.state = state;
  }

  public String getCondition() { return condition; }

  public String getErrorClass() { return condition; }  // its name before Spark 4.0

  public String getSqlState() { return state; }
}
