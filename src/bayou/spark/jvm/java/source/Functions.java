// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime$;
import org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.sources.BaseRelation;

// A table function. Its arguments are evaluated here, and Python creates the relation.
public class Functions extends scala.runtime.AbstractFunction1 {
  public static BiFunction body;

  // Each with the description for DESCRIBE FUNCTION.
  private static final String[][] ALL = {
    {"table_changes", "_FUNC_(table, start[, end]) - The changes of a Delta table between two versions or times, both included."},
    {"table_changes_by_path", "_FUNC_(path, start[, end]) - The changes of the Delta table at a path."},
    {"table_history", "_FUNC_(table[, limit]) - The commits of a Delta table, newest first."},
    {"table_detail", "_FUNC_(table) - The facts of a Delta table, as one row."},
    {"table_files", "_FUNC_(table) - The live data files of a Delta table."},
  };
  private static final Map known = Collections.synchronizedMap(new WeakHashMap());
  private static final SEQ NOTHING = org.apache.spark.api.python.PythonUtils.toSeq(new java.util.ArrayList());

  private final String name;

  private Functions(String name) { this.name = name; }

  // The function's name and the database of the view that calls it, then the type and the value of each argument, all ended by NUL.
  public Object apply(Object arguments) {
    SESSION session = (SESSION) org.apache.spark.sql.SparkSession.active();
    StringBuilder facts = new StringBuilder(name).append('\0').append(database()).append('\0');
    for (scala.collection.Iterator each = ((scala.collection.Iterable) arguments).iterator(); each.hasNext();) {
      Expression given = (Expression) each.next();
      Literal value = folded(session, given);
      String type = value == null ? "?" : value.value() == null ? "void" : value.dataType().typeName();
      facts.append(type).append('\0').append(value == null ? given.sql() : String.valueOf(value.value()).replace('\0', '?')).append('\0');
    }
    return LogicalRelation$.MODULE$.apply((BaseRelation) Python.ask(body, facts.toString(), new Object[] {session}), false);
  }

  // Inside a view, names refer to the database in which the view was created.
  private static String database() {
    SEQ names = AnalysisContext$.MODULE$.get().catalogAndNamespace();
    StringBuilder text = new StringBuilder();
    for (scala.collection.Iterator each = names.iterator(); each.hasNext();) text.append(text.length() == 0 ? "" : ".").append(WritableTable.quoted((String) each.next()));
    return text.toString();
  }

  // Returns null if the expression is not a constant.
  private static Literal folded(SESSION session, Expression given) {
    if (given instanceof Literal) return (Literal) given;
    if (given instanceof Alias) return folded(session, ((Alias) given).child());  // a session variable
    Alias named = new Alias(given, "value", org.apache.spark.sql.catalyst.expressions.NamedExpression$.MODULE$.newExprId(), NOTHING, scala.Option.empty(), NOTHING);
    LogicalPlan plan = new Project(org.apache.spark.api.python.PythonUtils.toSeq(Collections.singletonList(named)), new OneRowRelation());
    plan = ReplaceExpressions$.MODULE$.apply(plan);  // a replaceable expression does not know whether it is foldable
    plan = new ReplaceCurrentLike(session.sessionState().catalogManager()).apply(plan);
    if (!value(plan).foldable()) return null;
    Expression found = value(ComputeCurrentTime$.MODULE$.apply(plan));
    return found instanceof Literal ? (Literal) found : new Literal(found.eval(null), found.dataType());
  }

  private static Expression value(LogicalPlan plan) { return ((Alias) ((Project) plan).projectList().head()).child(); }

  // A running session keeps its functions. Sessions created from it get them from its extensions. Spark's own extensions register them,
  // because only they know the names under which each Spark version stores functions.
  public static void install(SESSION session) throws Exception {
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    SparkSessionExtensions ours = new SparkSessionExtensions();
    boolean isNew = known.put(extensions, Boolean.TRUE) == null;
    for (int i = 0; i < ALL.length; i++) {
      if (session.sessionState().catalog().lookupBuiltinOrTempTableFunction(ALL[i][0]).isDefined()) continue;
      ExpressionInfo info = new ExpressionInfo(Functions.class.getName(), null, ALL[i][0], ALL[i][1], "");
      scala.Tuple3 function = new scala.Tuple3(new FunctionIdentifier(ALL[i][0], scala.Option.empty()), info, new Functions(ALL[i][0]));
      ours.injectTableFunction(function);
      if (isNew) extensions.injectTableFunction(function);
    }
    ours.registerTableFunctions(session.sessionState().tableFunctionRegistry());
  }
}
