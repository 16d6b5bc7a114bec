// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;

// The session's own parser, and behind it Python, which is asked for a statement about a constraint, which an older parser refuses,
// and for each DELETE, UPDATE and MERGE: what Spark's analyzer makes of them gives no row of counts, and it refuses columns that a
// table is to get, and casts values by rules of its own.
public class Parser implements InvocationHandler {
  public static BiFunction body;
  private final ParserInterface session;

  public Parser(ParserInterface session) { this.session = session; }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    boolean isPlan = method.getName().startsWith("parsePlan");  // from Spark 4.1 on with parameters, too
    try {
      Object plan = method.invoke(session, arguments);
      if (isPlan && ((LogicalPlan) plan).nodeName().equals("CompoundBody")) return ((LogicalPlan) plan).transformDown(new Statements((String) arguments[0]));
      Object found = isPlan && isOurs(plan) ? body.apply(arguments[0], plan) : null;
      return found == null ? plan : found;
    } catch (InvocationTargetException failed) {
      Throwable unknown = failed.getCause();
      boolean isOurs = isPlan && unknown instanceof ParseException && ((String) arguments[0]).toLowerCase(Locale.ROOT).contains("constraint");
      Object found = isOurs ? asked((String) arguments[0], unknown) : null;
      if (found == null) throw unknown;
      return found;
    }
  }

  private static boolean isOurs(Object plan) {
    if (plan instanceof DeleteFromTable || plan instanceof MergeIntoTable || plan instanceof UpdateTable) return true;
    return ((LogicalPlan) plan).nodeName().equals("AddCheckConstraint");  // from Spark 4.1 on
  }

  // The statements of a script, from Spark 4.0 on. What their text has to tell is looked up in the whole of it.
  public static class Statements extends scala.runtime.AbstractPartialFunction {
    private final String text;

    public Statements(String text) { this.text = text; }

    public boolean isDefinedAt(Object node) { return ((LogicalPlan) node).nodeName().equals("SingleStatement") && isOurs(planOf(node)); }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      Object found = body.apply(text, planOf(node));
      try {
        return found == null ? node : node.getClass().getConstructor(new Class[] {LogicalPlan.class}).newInstance(new Object[] {found});
      } catch (Exception other) {  // a Spark that makes it otherwise
        return node;
      }
    }

    private static Object planOf(Object node) {
      try {
        return node.getClass().getMethod("parsedPlan", new Class[0]).invoke(node, new Object[0]);
      } catch (Exception other) {
        return node;
      }
    }
  }

  private static Object asked(String text, Throwable unknown) {
    try {
      return body.apply(text, null);
    } catch (RuntimeException failed) {
      unknown.addSuppressed(failed);
      return null;
    }
  }

  // It is all that the parser is that it stands before: extensions look for interfaces of their own.
  private static ParserInterface over(ParserInterface there) {
    if (isOn(there)) return there;
    Set interfaces = new LinkedHashSet();
    for (Class each = there.getClass(); each != null; each = each.getSuperclass()) interfaces.addAll(Arrays.asList(each.getInterfaces()));
    Class[] all = (Class[]) interfaces.toArray(new Class[0]);
    return (ParserInterface) Proxy.newProxyInstance(there.getClass().getClassLoader(), all, new Parser(there));
  }

  // The parser that a session's stands before: what a statement's text is to Spark.
  public static ParserInterface behind(ParserInterface there) {
    return isOn(there) ? ((Parser) Proxy.getInvocationHandler(there)).session : there;
  }

  private static boolean isOn(ParserInterface there) {
    return Proxy.isProxyClass(there.getClass()) && Proxy.getInvocationHandler(there) instanceof Parser;
  }

  // A session that runs keeps its parser for good; those that will be made of it ask their extensions for one.
  public static void install(SESSION session) throws Exception {
    ParserInterface there = session.sessionState().sqlParser();
    if (isOn(there)) return;
    Field field = org.apache.spark.sql.internal.SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    field.set(session.sessionState(), over(there));
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    extensions.injectParser(new Made());
  }

  public static class Made extends scala.runtime.AbstractFunction2 {
    public Object apply(Object session, Object parser) { return over((ParserInterface) parser); }
  }
}
