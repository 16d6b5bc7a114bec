// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Product;

// Accesses the parts of parsed nodes, which differ between Spark versions.
public final class Nodes {
  private Nodes() {}

  // The part with a name; null if this Spark's node has none, or if it is an empty Option.
  public static Object part(Object node, String name) {
    if (node == null) return null;
    Object found;
    try {
      found = node.getClass().getMethod(name, new Class[0]).invoke(node, new Object[0]);
    } catch (NoSuchMethodException older) {
      return null;
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(failed);
    }
    if (!(found instanceof scala.Option)) return found;
    return ((scala.Option) found).isDefined() ? ((scala.Option) found).get() : null;
  }

  // A copy of a node, with the same origin, in which a value replaces the part with that name, if this Spark's node has one.
  public static Object replaced(Object node, String name, Object value) throws ReflectiveOperationException {
    Product given = (Product) node;
    int place = 0;
    while (place < given.productArity() && !name(given, place).equals(name)) place++;
    return replaced(node, place, value);
  }

  // The same by the position of the part.
  static Object replaced(Object node, int place, Object value) throws ReflectiveOperationException {
    Object[] parts = new Object[((Product) node).productArity()];
    for (int i = 0; i < parts.length; i++) parts[i] = i == place ? value : ((Product) node).productElement(i);
    Constructor constructor = constructor(node.getClass(), parts.length);
    Origin before = CurrentOrigin.get();
    if (node instanceof TreeNode) CurrentOrigin.set(((TreeNode) node).origin());
    try {
      return constructor.newInstance(parts);
    } finally {
      CurrentOrigin.set(before);
    }
  }

  // The constructor of a case class takes all its parts.
  private static Constructor constructor(Class type, int parts) throws NoSuchMethodException {
    Constructor[] all = type.getConstructors();
    for (int i = 0; i < all.length; i++) if (all[i].getParameterCount() == parts) return all[i];
    throw new NoSuchMethodException(type.getName() + " with " + parts + " parts");
  }

  // The plan for a name that an expression gives. Before Spark 4 only names of tables without a query could be expressions.
  public static Object named(Object computed, SEQ parts) {
    Object builder = part(computed, "planBuilder");
    return builder instanceof scala.Function1 ? ((scala.Function1) builder).apply(parts) : ((scala.Function2) builder).apply(parts, part(computed, "children"));
  }

  // Scala 2.12 has no names of parts: there the final fields of a class are in the order of its parts. Lazy values of a trait may come
  // before them, and are not final.
  private static String name(Product node, int place) throws ReflectiveOperationException {
    try {
      return (String) node.getClass().getMethod("productElementName", new Class[] {int.class}).invoke(node, new Object[] {Integer.valueOf(place)});
    } catch (NoSuchMethodException older) {
      Field[] fields = node.getClass().getDeclaredFields();
      int at = -1;
      for (int i = 0; i < fields.length; i++) if (Modifier.isFinal(fields[i].getModifiers()) && !Modifier.isStatic(fields[i].getModifiers()) && ++at == place) return fields[i].getName();
      throw new IllegalStateException(node.getClass().getName() + " has no part " + place, older);
    }
  }
}
