// SPDX-License-Identifier: Apache-2.0
package bayou;

// What of Spark's a call comes from, where nothing but the stack tells. Where a Spark calls it otherwise the answer is no.
public final class Callers {
  private Callers() {}

  // A DataFrame's columns go by name. Which API it is that loads a table, Spark tells by its stack only.
  public static String writer() {
    if (include("DataFrameWriterV2", "")) return "writeTo";
    return include("DataFrameWriter", "saveAsTable") ? "saveAsTable" : "";
  }

  // Whether a class of a simple name, or one inside it, is among the callers, in a method whose name has a part; "" is in each.
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
