// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.SparkPartitionID;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.Iterator;

// Traverses Catalyst's trees, which takes microseconds here and hundreds of milliseconds through py4j.
public class Plans {
  public abstract static class Change extends scala.runtime.AbstractFunction1 {}

  public static TreeNode mapChildren(TreeNode node, Change change) { return (TreeNode) node.mapChildren(change); }

  // The columns of `plan` that `names` lists, under the names and expression ids of `output`, to which the query above refers.
  // Types that differ only in the names of nested fields are cast: an alias would read the bytes of another type.
  public static LogicalPlan named(SEQ output, LogicalPlan plan, String[] names) {
    plan = renumbered(output, plan, names);
    java.util.HashMap given = byName(plan.output());
    java.util.ArrayList columns = new java.util.ArrayList();
    Iterator wanted = output.iterator();
    for (int i = 0; wanted.hasNext(); i++) {
      Attribute want = (Attribute) wanted.next();
      Expression have = (Expression) given.get(names[i]);
      if (have == null) throw new DeltaError("no column " + names[i] + " in the scan of " + want.name(), "internal");
      if (((Attribute) have).exprId().equals(want.exprId())) {
        columns.add(have);
        continue;
      }
      if (!have.dataType().catalogString().equals(want.dataType().catalogString()))
        have = new Cast(have, want.dataType(), scala.Option.empty(), EvalMode$.MODULE$.LEGACY());
      columns.add(new Alias(have, want.name(), want.exprId(), want.qualifier(), scala.Option.empty(), NOTHING));
    }
    for (int i = columns.size(); i < names.length; i++) columns.add(given.get(names[i]));  // columns that `output` does not have
    return new Project(org.apache.spark.api.python.PythonUtils.toSeq(columns), plan);
  }

  // The column that a value is, possibly with its chars padded; null for anything else.
  static Expression shown(Expression value) {
    // Views cast each column to the type that it had at their creation. If the type is still the same, the cast has no effect.
    if (value instanceof Cast && value.dataType().equals(((Cast) value).child().dataType())) value = ((Cast) value).child();
    if (value instanceof AttributeReference) return value;
    return value.references().size() == 1 && isPadded(value) ? (Expression) value.references().toSeq().head() : null;
  }

  // Whether a value is a column with its chars padded, as Spark reads them.
  private static boolean isPadded(Expression value) { return value.toString().contains("readSidePadding") && isPaddingAlone(value); }

  private static boolean isPaddingAlone(TreeNode node) {
    if (!node.getClass().getSimpleName().matches("StaticInvoke|AttributeReference|Literal|CreateNamedStruct|GetStructField|If|IsNull|ArrayTransform|LambdaFunction|NamedLambdaVariable|MapFromArrays|MapKeys|MapValues")) return false;
    for (Iterator i = node.children().iterator(); i.hasNext();) if (!isPaddingAlone((TreeNode) i.next())) return false;
    return true;
  }

  // A plan whose columns have the names and ids of `output`, one by one. Spark's optimizer drops those of views.
  public static LogicalPlan under(SEQ output, LogicalPlan plan) {
    java.util.ArrayList columns = new java.util.ArrayList();
    boolean isSame = true;
    Iterator given = plan.output().iterator();
    for (Iterator i = output.iterator(); i.hasNext();) {
      Attribute want = (Attribute) i.next(), have = (Attribute) given.next();
      boolean fits = have.exprId().equals(want.exprId());
      isSame = isSame && fits;
      columns.add(fits ? have : new Alias(have, want.name(), want.exprId(), want.qualifier(), scala.Option.empty(), NOTHING));
    }
    return isSame ? plan : new Project(org.apache.spark.api.python.PythonUtils.toSeq(columns), plan);
  }

  // A plan in which the columns that are read with the wanted names and types have the ids of `output`. This avoids aliases: Spark compares
  // each alias below a filter with all the others there.
  private static LogicalPlan renumbered(SEQ output, LogicalPlan plan, String[] names) {
    if (plan.collectLeaves().size() != 1) return plan;
    java.util.HashMap given = byName(plan.output()), read = byName(((LogicalPlan) plan.collectLeaves().head()).output());
    java.util.HashMap columns = new java.util.HashMap();
    Iterator wanted = output.iterator();
    for (int i = 0; wanted.hasNext(); i++) {
      Attribute want = (Attribute) wanted.next(), have = (Attribute) given.remove(names[i]), source = (Attribute) read.get(names[i]);
      if (have == null || source == null || !have.exprId().equals(source.exprId())) continue;
      if (have.name().equals(want.name()) && have.dataType().equals(want.dataType()))
        columns.put(Long.valueOf(have.exprId().id()), have.withExprId(want.exprId()).withQualifier(want.qualifier()));
    }
    return columns.isEmpty() ? plan : renumbered(plan, columns);
  }

  private static LogicalPlan renumbered(LogicalPlan plan, final java.util.HashMap columns) {
    TreeNode node = (TreeNode) plan.mapExpressions(new Change() {
      public Object apply(Object expression) { return meant((Expression) expression, columns); }
    });
    return (LogicalPlan) mapChildren(node, new Change() {
      public Object apply(Object child) { return renumbered((LogicalPlan) child, columns); }
    });
  }

  private static java.util.HashMap byName(SEQ columns) {
    java.util.HashMap found = new java.util.HashMap();
    for (Iterator i = columns.iterator(); i.hasNext();) { Attribute each = (Attribute) i.next(); found.put(each.name(), each); }
    return found;
  }

  // The rows of an optimized plan in which none of `columns` is a constant, except those of `kept`; null if there is nothing to change. Spark
  // evaluates expressions over constants before it knows whether the row is needed.
  public static LogicalPlan unfolded(LogicalPlan plan, java.util.List columns, java.util.List kept) {
    java.util.HashSet hidden = new java.util.HashSet();
    for (java.util.Iterator i = columns.iterator(); i.hasNext();) hidden.add(((Attribute) i.next()).exprId());
    for (java.util.Iterator i = kept.iterator(); i.hasNext();) hidden.remove(((Attribute) i.next()).exprId());
    LogicalPlan made = unfolded(plan, hidden);
    return made == plan ? null : made;
  }

  private static LogicalPlan unfolded(LogicalPlan plan, final java.util.HashSet hidden) {
    final java.util.HashSet below = new java.util.HashSet(hidden);
    if (plan instanceof Union) {
      java.util.ArrayList children = new java.util.ArrayList();
      for (Iterator i = plan.children().iterator(); i.hasNext();) {
        LogicalPlan child = (LogicalPlan) i.next();
        children.add(unfolded(child, sameColumns(plan.output(), child.output(), hidden)));
      }
      return (LogicalPlan) plan.withNewChildren(org.apache.spark.api.python.PythonUtils.toSeq(children));
    }
    TreeNode node = plan;
    if (plan instanceof Project)
      node = (TreeNode) plan.mapExpressions(new Change() {
        public Object apply(Object column) {
          if (!(column instanceof Alias) || !hidden.contains(((Alias) column).exprId())) return column;
          for (Iterator i = ((Alias) column).references().iterator(); i.hasNext();) below.add(((Attribute) i.next()).exprId());
          return mapChildren((Alias) column, UNFOLDED);
        }
      });
    return (LogicalPlan) mapChildren(node, new Change() { public Object apply(Object child) { return unfolded((LogicalPlan) child, below); } });
  }

  // The ids in `below` of those columns of `above` that are in `chosen`. Both have the same columns in the same order.
  private static java.util.HashSet sameColumns(SEQ above, SEQ below, java.util.HashSet chosen) {
    java.util.HashSet found = new java.util.HashSet();
    Iterator own = below.iterator();
    for (Iterator i = above.iterator(); i.hasNext();) {
      Attribute column = (Attribute) own.next();
      if (chosen.contains(((Attribute) i.next()).exprId())) found.add(column.exprId());
    }
    return found;
  }

  private static final Change UNFOLDED = new Change() {
    public Object apply(Object value) {
      if (!((Expression) value).foldable()) return value;
      Literal zero = new Literal(Integer.valueOf(0), org.apache.spark.sql.types.IntegerType$.MODULE$);
      return new If(new GreaterThanOrEqual(new SparkPartitionID(), zero), (Expression) value, (Expression) value);
    }
  };

  // A condition as JSON. Everything that Catalyst's JSON omits, or prints in a time zone, becomes a plain literal.
  public static String describe(Expression condition) { return plain(condition).toJSON(); }

  private static Expression plain(Expression e) {
    if (e instanceof PlanExpression || e instanceof InSubquery) return new InputFileName();  // Python cannot evaluate it
    if (e instanceof InSet) {
      java.util.ArrayList values = new java.util.ArrayList();
      for (Iterator i = ((InSet) e).hset().iterator(); i.hasNext();) values.add(plain(new Literal(i.next(), ((InSet) e).child().dataType())));
      return new In(plain(((InSet) e).child()), org.apache.spark.api.python.PythonUtils.toSeq(values));
    }
    if (e instanceof Literal && ((Literal) e).value() != null) {
      String type = e.dataType().typeName();
      if (type.equals("timestamp")) return new Literal(((Literal) e).value(), org.apache.spark.sql.types.LongType$.MODULE$);
      if (type.equals("date")) return new Literal(((Literal) e).value(), org.apache.spark.sql.types.IntegerType$.MODULE$);
    }
    return (Expression) mapChildren(e, new Change() { public Object apply(Object child) { return plain((Expression) child); } });
  }

  // A value without Spark's check for NULL. The check of the table's constraints names the column and the rows.
  public static Expression asGiven(Expression value) {
    if (value instanceof AssertNotNull) return asGiven(((AssertNotNull) value).child());
    return (Expression) mapChildren(value, new Change() { public Object apply(Object child) { return asGiven((Expression) child); } });
  }

  // A condition whose char columns, which have metadata under `declared`, are plain strings. Spark has padded the values that they are
  // compared with, and must not do so twice.
  public static Expression padded(Expression condition, final String declared) {
    if (condition instanceof AttributeReference && ((Attribute) condition).metadata().contains(declared))
      return ((Attribute) condition).withMetadata(org.apache.spark.sql.types.Metadata$.MODULE$.empty());
    return (Expression) mapChildren(condition, new Change() { public Object apply(Object child) { return padded((Expression) child, declared); } });
  }

  // Replaces the columns of `known`, which a user took from DataFrames of the table, by the columns of that name in `columns`. Columns that
  // are also in `others` came with such a DataFrame, and stay.
  public static Expression meant(Expression given, Object[] known, SEQ columns, SEQ others) {
    java.util.HashMap wanted = new java.util.HashMap(), there = byName(columns);
    for (int frame = 0; frame < known.length; frame++) {
      for (Iterator i = ((SEQ) known[frame]).iterator(); i.hasNext();) {
        Attribute each = (Attribute) i.next();
        if (there.containsKey(each.name())) wanted.put(Long.valueOf(each.exprId().id()), there.get(each.name()));
      }
    }
    for (Iterator i = others.iterator(); i.hasNext();) wanted.remove(Long.valueOf(((Attribute) i.next()).exprId().id()));
    return wanted.isEmpty() ? given : meant(given, wanted);
  }

  // A row change with its calls of Python functions. Spark's optimizer moves them into nodes below the statement, which add their results to
  // the columns of a table.
  public static LogicalPlan restored(LogicalPlan statement) {
    java.util.ArrayList children = new java.util.ArrayList();
    final java.util.ArrayList calls = new java.util.ArrayList();
    for (Iterator i = statement.children().iterator(); i.hasNext();) {
      LogicalPlan child = (LogicalPlan) i.next();
      for (; child instanceof BaseEvalPython; child = (LogicalPlan) child.children().head()) calls.add(calls((BaseEvalPython) child));
      children.add(child);
    }
    if (calls.isEmpty()) return statement;
    TreeNode plain = statement.withNewChildren(org.apache.spark.api.python.PythonUtils.toSeq(children));
    return (LogicalPlan) ((LogicalPlan) plain).mapExpressions(new Change() {
      public Object apply(Object expression) {
        Expression found = (Expression) expression;
        for (int i = 0; i < calls.size(); i++) found = meant(found, (java.util.HashMap) calls.get(i));
        return found;
      }
    });
  }

  private static java.util.HashMap calls(BaseEvalPython node) {
    java.util.HashMap found = new java.util.HashMap();
    Iterator results = node.resultAttrs().iterator();
    for (Iterator i = node.udfs().iterator(); i.hasNext();) found.put(Long.valueOf(((Attribute) results.next()).exprId().id()), i.next());
    return found;
  }

  private static Expression meant(Expression given, final java.util.HashMap wanted) {
    if (given instanceof AttributeReference) {
      Object found = wanted.get(Long.valueOf(((Attribute) given).exprId().id()));
      return found == null ? given : (Expression) found;
    }
    return (Expression) mapChildren(given, new Change() { public Object apply(Object child) { return meant((Expression) child, wanted); } });
  }

  private static final SEQ NOTHING = org.apache.spark.api.python.PythonUtils.toSeq(new java.util.ArrayList());

  // The columns of a query that are only NULL, each ended by NUL. Spark fills columns that an INSERT leaves out like this.
  public static String nulls(LogicalPlan plan) {
    StringBuilder text = new StringBuilder();
    if (!(plan instanceof Project)) return "";
    for (Iterator i = ((Project) plan).projectList().iterator(); i.hasNext();) {
      Object column = i.next();
      if (!(column instanceof Alias)) continue;
      Expression value = ((Alias) column).child();
      while (value instanceof Cast || value instanceof Alias) value = (Expression) value.children().head();
      if (value instanceof Literal && ((Literal) value).value() == null) text.append(((Alias) column).name()).append('\0');
    }
    return text.toString();
  }
}
