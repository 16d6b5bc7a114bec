// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;

// Calls methods whose signatures differ between patch releases of Spark. The parameters of the existing method decide.
public final class Signatures {
  private Signatures() {}

  // Calls a method of one parameter, a table's qualified name. Up to 3.5.2 its class takes a database and a table, later also a catalog
  // before them, and in 3.5.3 it has another name.
  public static Object callWithName(Object target, String method, String[] parts) throws Exception {
    Method[] all = target.getClass().getMethods();
    for (int i = 0; i < all.length; i++) {
      if (!all[i].getName().equals(method) || all[i].getParameterCount() != 1) continue;
      Object name = named(all[i].getParameterTypes()[0], parts);
      if (name != null) return all[i].invoke(target, new Object[] {name});
    }
    throw new DeltaError("Spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION() + " has no " + target.getClass().getName() + "." + method
        + " that takes a qualified table name. Next: use a Spark release that the README lists, or report this message to bayou.", "internal");
  }

  // Creates an object from the last of some strings, with the constructor that takes most of them. Null if none takes only strings.
  private static Object named(Class type, String[] parts) throws Exception {
    Constructor[] all = type.getConstructors();
    Constructor best = null;
    for (int i = 0; i < all.length; i++) {
      int count = all[i].getParameterCount();
      if (count < 2 || count > parts.length || best != null && best.getParameterCount() >= count) continue;
      if (isStrings(all[i].getParameterTypes())) best = all[i];
    }
    return best == null ? null : best.newInstance((Object[]) Arrays.copyOfRange(parts, parts.length - best.getParameterCount(), parts.length));
  }

  private static boolean isStrings(Class[] types) {
    for (int i = 0; i < types.length; i++) if (types[i] != String.class) return false;
    return true;
  }
}
