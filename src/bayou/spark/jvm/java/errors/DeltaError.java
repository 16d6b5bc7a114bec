// SPDX-License-Identifier: Apache-2.0
package bayou;

// An error of bayou's on its way through the JVM; `key` names the Python exception that the user shall see.
public class DeltaError extends IllegalArgumentException {
  private final String key;

  public DeltaError(String message, String key) {
    super(message);
    this.key = key;
  }

  public String key() { return key; }
}
