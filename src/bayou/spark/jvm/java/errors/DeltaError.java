// SPDX-License-Identifier: Apache-2.0
package bayou;

// An error of bayou that passes through the JVM. `key` identifies the Python exception for the user.
public class DeltaError extends IllegalArgumentException {
  private final String key;

  public DeltaError(String message, String key) {
    super(message);
    this.key = key;
  }

  public String key() { return key; }
}
