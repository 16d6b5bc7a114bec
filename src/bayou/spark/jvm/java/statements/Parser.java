// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.internal.VariableSubstitution;

// The session's own parser, and after it Python. If the parser refuses a statement that begins like one of Delta Lake, Python is asked.
// Python is also asked for each UPDATE and MERGE: before AnalyzerRule sees them, Spark's analyzer refuses columns that a table will get, and
// casts values by rules of its own.
public class Parser implements InvocationHandler {
  private static BiFunction body;  // for parsed statements
  private static BiFunction refused;  // for refused statements

  private final ParserInterface session;
  private final SESSION owner;

  public Parser(ParserInterface session, SESSION owner) {
    this.session = session;
    this.owner = owner;
  }

  // Sets the Python functions, and the first words of the statements to ask about.
  public static void answer(BiFunction parsed, BiFunction texts, String beginnings) {
    body = parsed;
    refused = texts;
    Beginnings.set(beginnings);
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    boolean isPlan = method.getName().startsWith("parsePlan");  // from Spark 4.1 on with parameters, too
    if (isPlan) StatementText.note((String) arguments[0]);
    try {
      Object plan = withPaths(owner, method.getName(), method.invoke(session, arguments), arguments);
      if (isPlan && isScripts(plan)) take(plan);
      return isPlan ? taken((String) arguments[0], plan) : plan;
    } catch (InvocationTargetException failed) {
      Throwable unknown = failed.getCause();
      Object found = isPlan && unknown instanceof ParseException && mayBeOurs((String) arguments[0]) ? asked(arguments, unknown) : null;
      if (found == null && method.getName().equals("parseMultipartIdentifier") && arguments[0].equals("") && Callers.include("CatalogImpl", ""))
        throw new UnsupportedOperationException("Spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION() + " cannot list temporary views beside a session catalog that is not its own. Next: use SHOW TABLES, or Spark 3.5.4.", unknown);
      if (found == null) throw unknown;
      if (!(found instanceof String)) return found;
      Object[] again = (Object[]) arguments.clone();  // an equivalent statement, with the same parameters
      again[0] = found;
      return invoke(proxy, method, again);
    }
  }

  // Returns Python's replacement of a statement, also inside EXPLAIN, and of an INSERT whose query precedes it.
  private static Object taken(String text, Object plan) throws ReflectiveOperationException {
    String name = ((LogicalPlan) plan).nodeName();
    if (name.equals("ExplainCommand")) {
      Object explained = Nodes.part(plan, "logicalPlan");
      Object found = changesRows(explained) ? explained : taken(text, explained);  // AnalyzerRule replaces row changes
      return found == explained ? plan : Nodes.replaced(plan, "logicalPlan", found);
    }
    if (name.equals("UnresolvedWith") && isReplacing(Nodes.part(Nodes.part(plan, "child"), "replaceCriteriaOpt"))) {
      Object insert = Nodes.part(plan, "child");
      return taken(text, Nodes.replaced(insert, "query", Nodes.replaced(plan, "child", Nodes.part(insert, "query"))));
    }
    Object found = isOurs(plan) ? Python.ask(body, text, plan) : null;
    return found == null ? plan : found;
  }

  static boolean changesRows(Object plan) { return plan instanceof DeleteFromTable || plan instanceof MergeIntoTable || plan instanceof UpdateTable; }

  // Returns Python's replacement of a statement without SQL.
  static Object asked(Object plan) { return Python.ask(body, "", plan); }

  // Returns a parsed statement or table name, with complete names by path.
  private static Object withPaths(SESSION owner, String method, Object parsed, Object[] arguments) {
    boolean isPlan = parsed instanceof LogicalPlan, isName = method.equals("parseMultipartIdentifier");  // a StructType is a Seq, too
    if (!isPlan && !isName || !PathNames.areMeant((String) arguments[0], owner)) return parsed;
    return isPlan ? PathNames.completed((LogicalPlan) parsed) : (Object) PathNames.completed((SEQ) parsed);
  }

  private static boolean isOurs(Object plan) {
    if (plan instanceof MergeIntoTable || plan instanceof UpdateTable || plan instanceof DeleteFromTable && isComputed(((DeleteFromTable) plan).table())) return true;
    String name = ((LogicalPlan) plan).nodeName();
    if (name.equals("CreateTable") || name.equals("ReplaceTable")) return hasConstraints(Nodes.part(plan, "tableSpec"));
    if (name.equals("AlterColumns")) return "COMMENT ON COLUMN".equals(Nodes.part(Nodes.part(plan, "table"), "commandName"));
    if (name.equals("InsertIntoStatement")) return isReplacing(Nodes.part(plan, "replaceCriteriaOpt"));
    return name.equals("DescribeColumn") || name.equals("AddCheckConstraint") || name.equals("AddConstraint");
  }

  // Whether an expression gives the name of a table.
  private static boolean isComputed(LogicalPlan table) {
    while (table.nodeName().equals("SubqueryAlias")) table = (LogicalPlan) table.children().head();
    return table.nodeName().equals("PlanWithUnresolvedIdentifier");
  }

  private static boolean hasConstraints(Object table) {
    Object found = Nodes.part(table, "constraints");  // from Spark 4.1 on
    return found != null && !((scala.collection.Iterable) found).isEmpty();
  }

  // REPLACE USING and REPLACE ON, from Spark 4.2 on. Spark itself turns REPLACE WHERE into an overwrite.
  private static boolean isReplacing(Object criteria) {
    return criteria != null && !criteria.getClass().getSimpleName().equals("InsertReplaceWhere");
  }

  // Replaces the statements of a script, from Spark 4.0 on, in place: Spark does not rebuild a script's nodes as they were. Their tables are
  // not known yet.
  private static void take(Object node) {
    if (node instanceof scala.collection.Iterable) {
      for (scala.collection.Iterator each = ((scala.collection.Iterable) node).iterator(); each.hasNext();) take(each.next());
    } else if (node instanceof scala.Option) {
      if (((scala.Option) node).isDefined()) take(((scala.Option) node).get());
    } else if (isScripts(node) && node.getClass().getSimpleName().equals("SingleStatement")) {
      try {
        Field field = node.getClass().getDeclaredField("parsedPlan");
        field.setAccessible(true);
        Object plan = field.get(node);
        Object found = taken(null, PathNames.completed((LogicalPlan) plan));  // an earlier statement of the script may select another catalog
        if (found != plan) field.set(node, found);
      } catch (ReflectiveOperationException other) {
        return;  // a Spark version that stores it differently: then Spark resolves the statement
      }
    } else if (isScripts(node)) {
      for (scala.collection.Iterator each = ((scala.Product) node).productIterator(); each.hasNext();) take(each.next());
    }
  }

  private static boolean isScripts(Object node) {
    if (!(node instanceof scala.Product)) return false;
    for (Class each = node.getClass(); each != null; each = each.getSuperclass())
      for (int i = 0; i < each.getInterfaces().length; i++)
        if (each.getInterfaces()[i].getSimpleName().equals("CompoundPlanStatement")) return true;
    return false;
  }

  // Python is asked about no other statement: the first call loads most of bayou. `Beginnings.describes` finds a description in a query.
  private static boolean mayBeOurs(String text) {
    if (text.indexOf("${") >= 0) text = new VariableSubstitution().substitute(text);
    return Beginnings.mayBegin(text) || Beginnings.describes(text);
  }

  // From Spark 4.1 on, a parser may get the values of parameters with a statement.
  private static Object asked(Object[] arguments, Throwable unknown) {
    try {
      return Python.ask(refused, arguments[0], arguments.length > 1 ? arguments[1] : null);
    } catch (DeltaError refused) {
      refused.addSuppressed(unknown);
      throw refused;
    } catch (RuntimeException failed) {
      unknown.addSuppressed(failed);
      return null;
    }
  }

  // It implements all interfaces of the parser that it wraps, because extensions look for their own.
  private static ParserInterface over(ParserInterface there, SESSION owner) {
    if (isOn(there)) return there;
    Set interfaces = new LinkedHashSet();
    for (Class each = there.getClass(); each != null; each = each.getSuperclass()) interfaces.addAll(Arrays.asList(each.getInterfaces()));
    Class[] all = (Class[]) interfaces.toArray(new Class[0]);
    return (ParserInterface) Delegates.of(all, there.getClass().getClassLoader(), new Parser(there, owner));
  }

  // The parser that bayou's wraps: Spark's own view of a statement.
  public static ParserInterface behind(ParserInterface there) {
    return isOn(there) ? ((Parser) Delegates.handler(there)).session : there;
  }

  static boolean isOn(ParserInterface there) {
    return Delegates.handler(there) instanceof Parser;
  }

  // A running session keeps its parser. Sessions created from it ask their extensions for one.
  public static void install(SESSION session) throws Exception {
    ParserInterface there = session.sessionState().sqlParser();
    if (isOn(there)) return;
    Field field = org.apache.spark.sql.internal.SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    field.set(session.sessionState(), over(there, session));
    try {  // EXECUTE IMMEDIATE of Spark 4.0 uses this one
      Field another = org.apache.spark.sql.catalyst.catalog.SessionCatalog.class.getDeclaredField("parser");
      another.setAccessible(true);
      another.set(session.sessionState().catalog(), session.sessionState().sqlParser());
    } catch (NoSuchFieldException other) {
      // a Spark version whose catalog has no parser
    }
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    extensions.injectParser(new Made());
  }

  public static class Made extends scala.runtime.AbstractFunction2 {
    public Object apply(Object session, Object parser) { return over((ParserInterface) parser, (SESSION) session); }
  }
}
