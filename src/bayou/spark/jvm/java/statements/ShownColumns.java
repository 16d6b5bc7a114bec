// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreeNode;

// Handles a statement about a view or a query that shows columns of one table unchanged, possibly under other names.
public final class ShownColumns {
  private ShownColumns() {}

  // The node whose columns such a node shows; any other node is returned as it is.
  public static LogicalPlan source(LogicalPlan node) {
    while (node instanceof SubqueryAlias || node instanceof View || node instanceof Project && columns((Project) node) != null) node = (LogicalPlan) node.children().head();
    return node;
  }

  // Whether a node shows all columns of its source, in order and under their names.
  public static boolean isWhole(LogicalPlan node) {
    LogicalPlan source = source(node);
    if (node.output().size() != source.output().size()) return false;
    HashMap columns = columns(node, source);
    scala.collection.Iterator below = source.output().iterator();
    for (scala.collection.Iterator each = node.output().iterator(); each.hasNext();) {
      Attribute shown = (Attribute) each.next(), column = (Attribute) below.next();
      if (!shown.name().equals(column.name()) || !replaced((Expression) shown, columns).semanticEquals((Expression) column)) return false;
    }
    return true;
  }

  // The same statement about the source, in terms of its columns.
  public static LogicalPlan onSource(LogicalPlan statement) {
    LogicalPlan shown = (LogicalPlan) statement.children().head(), source = source(shown);
    if (shown == source) return statement;
    HashMap columns = columns(shown, source);
    ArrayList children = new ArrayList();
    for (scala.collection.Iterator each = statement.children().iterator(); each.hasNext();) children.add(each.next());
    children.set(0, source);
    TreeNode moved = statement.withNewChildren(org.apache.spark.api.python.PythonUtils.toSeq(children));
    return (LogicalPlan) ((LogicalPlan) moved).mapExpressions(change(columns));
  }

  // Turns expressions over the columns of a node into expressions over those of its source.
  public static List onSource(LogicalPlan node, List expressions) {
    HashMap columns = columns(node, source(node));
    ArrayList found = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) found.add(replaced((Expression) expressions.get(i), columns));
    return found;
  }

  private static HashMap columns(LogicalPlan node, LogicalPlan source) {
    HashMap found = new HashMap();
    for (; node != source; node = (LogicalPlan) node.children().head()) if (node instanceof Project) found.putAll(columns((Project) node));
    return found;
  }

  // The columns below a projection, by the ids of its own columns; null if it computes a column.
  private static HashMap columns(Project projection) {
    HashMap found = new HashMap();
    for (scala.collection.Iterator each = projection.projectList().iterator(); each.hasNext();) {
      Object column = each.next();
      if (column instanceof AttributeReference) continue;
      Expression value = column instanceof Alias ? Plans.shown(((Alias) column).child()) : null;
      if (value == null) return null;
      found.put(id(((Alias) column).toAttribute()), value);
    }
    return found;
  }

  private static Long id(Attribute column) { return Long.valueOf(column.exprId().id()); }

  private static Plans.Change change(final HashMap columns) {
    return new Plans.Change() { public Object apply(Object expression) { return replaced((Expression) expression, columns); } };
  }

  private static Expression replaced(Expression given, HashMap columns) {
    if (given instanceof AttributeReference) {
      Expression found = (Expression) columns.get(id((Attribute) given));
      return found == null ? given : replaced(found, columns);
    }
    Expression changed = (Expression) Plans.mapChildren(given, change(columns));
    if (!(changed instanceof PlanExpression)) return changed;
    return ((PlanExpression) changed).withNewPlan((QueryPlan) outside((LogicalPlan) ((PlanExpression) changed).plan(), columns));
  }

  // A subquery's plan, in which only the references to the outer rows change.
  private static LogicalPlan outside(LogicalPlan plan, final HashMap columns) {
    LogicalPlan changed = (LogicalPlan) Plans.mapChildren(plan, new Plans.Change() {
      public Object apply(Object child) { return outside((LogicalPlan) child, columns); }
    });
    return (LogicalPlan) changed.mapExpressions(new Plans.Change() {
      public Object apply(Object expression) {
        if (expression instanceof OuterReference) return outer((OuterReference) expression, columns);
        Expression each = (Expression) Plans.mapChildren((TreeNode) expression, this);
        return each instanceof PlanExpression ? ((PlanExpression) each).withNewPlan((QueryPlan) outside((LogicalPlan) ((PlanExpression) each).plan(), columns)) : each;
      }
    });
  }

  // An outer reference has no children: the expression that it refers to is a part of it.
  private static Expression outer(OuterReference reference, HashMap columns) {
    Expression found = replaced((Expression) reference.e(), columns);
    return found == reference.e() ? reference : new OuterReference((org.apache.spark.sql.catalyst.expressions.NamedExpression) found);
  }
}
