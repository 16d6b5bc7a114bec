// SPDX-License-Identifier: Apache-2.0
package bayou;

// Determines which part of Spark a call comes from, if only the stack shows it. The answer is no if a Spark version calls differently.
public final class Callers {
  private Callers() {}

  // A DataFrame's columns are matched by name. Only the stack shows which API of Spark loads a table.
  public static String writer() {
    if (include("DataFrameWriterV2", "")) return "writeTo";
    return include("DataFrameWriter", "saveAsTable") ? "saveAsTable" : "";
  }

  // Whether a class of a simple name, or a class inside it, is among the callers, in a method whose name contains `method`.
  public static boolean include(String type, String method) {
    StackTraceElement[] stack = Thread.currentThread().getStackTrace();
    for (int i = 0; i < stack.length; i++) {
      String name = stack[i].getClassName();
      int from = name.lastIndexOf('.') + 1;
      boolean isType = name.startsWith(type, from) && (name.length() == from + type.length() || name.charAt(from + type.length()) == '$');
      if (isType && stack[i].getMethodName().contains(method)) return true;
    }
    return false;
  }
}
