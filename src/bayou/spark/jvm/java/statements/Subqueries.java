// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;

// Reads and replaces the subqueries of an expression that Spark has resolved and not optimized.
public final class Subqueries {
  private Subqueries() {}

  // The outermost subqueries, in order.
  public static List of(Expression expression) {
    ArrayList found = new ArrayList();
    collect(expression, found);
    return found;
  }

  private static void collect(TreeNode node, List found) {
    if (node instanceof SubqueryExpression) { found.add(node); return; }
    for (scala.collection.Iterator each = node.children().iterator(); each.hasNext();) collect((TreeNode) each.next(), found);
  }

  // Whether it refers to the row that it is evaluated for.
  public static boolean isCorrelated(SubqueryExpression subquery) { return subquery.isCorrelated(); }

  // The expression with others in place of its subqueries, in the order of `of`.
  public static Expression replaced(Expression expression, List subqueries) { return (Expression) replaced(expression, subqueries.iterator()); }

  private static TreeNode replaced(TreeNode node, final java.util.Iterator others) {
    if (node instanceof SubqueryExpression) return (TreeNode) others.next();
    return Plans.mapChildren(node, new Plans.Change() { public Object apply(Object child) { return replaced((TreeNode) child, others); } });
  }

  // A plan with other leaves, in order: those of its subqueries come after its own.
  public static LogicalPlan withLeaves(LogicalPlan plan, List leaves) { return withLeaves(plan, leaves.iterator()); }

  private static LogicalPlan withLeaves(LogicalPlan plan, final java.util.Iterator leaves) {
    if (plan.children().isEmpty()) return (LogicalPlan) leaves.next();
    LogicalPlan changed = (LogicalPlan) Plans.mapChildren(plan, new Plans.Change() {
      public Object apply(Object child) { return withLeaves((LogicalPlan) child, leaves); }
    });
    return (LogicalPlan) changed.mapExpressions(new Plans.Change() {
      public Object apply(Object expression) {
        Expression each = (Expression) Plans.mapChildren((TreeNode) expression, this);
        return each instanceof PlanExpression ? ((PlanExpression) each).withNewPlan((QueryPlan) withLeaves((LogicalPlan) ((PlanExpression) each).plan(), leaves)) : each;
      }
    });
  }

  // Its leaves, in the order of `withLeaves`.
  public static List leaves(LogicalPlan plan) {
    final ArrayList found = new ArrayList();
    if (plan.children().isEmpty()) {
      found.add(plan);
      return found;
    }
    for (scala.collection.Iterator each = plan.children().iterator(); each.hasNext();) found.addAll(leaves((LogicalPlan) each.next()));
    plan.mapExpressions(new Plans.Change() {
      public Object apply(Object expression) {
        Plans.mapChildren((TreeNode) expression, this);
        if (expression instanceof PlanExpression) found.addAll(leaves((LogicalPlan) ((PlanExpression) expression).plan()));
        return expression;
      }
    });
    return found;
  }

  // A Delta table at one version, as `request` says. The first part of a LogicalRelation is the relation that it reads.
  public static LogicalPlan at(LogicalRelation table, String request, String version) throws ReflectiveOperationException {
    return (LogicalPlan) Nodes.replaced(table, 0, ((DeltaTable) table.relation()).at(request, version));
  }

  // The subquery over another plan.
  public static Expression over(SubqueryExpression subquery, LogicalPlan plan) { return (Expression) subquery.withNewPlan(plan); }

  // The single value of a single row.
  public static Expression value(Dataset rows, DataType type) { return (Expression) Literal$.MODULE$.create(((Row[]) rows.collect())[0].get(0), type); }
}
