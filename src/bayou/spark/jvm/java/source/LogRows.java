// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.Map;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

// Rows about a table's log. The rule replaces it when a query is planned, so that the rows are of that moment.
public class LogRows extends BaseRelation {
  private final SESSION session;
  private final StructType schema;
  private final String request;
  private final String version;

  // Relations with the same request and version of the table are the same to Spark's caches.
  public LogRows(SESSION session, String schema, String request, String version) {
    this.session = session;
    this.schema = (StructType) DataType.fromJson(schema);
    this.request = request;
    this.version = version;
  }

  public SQLContext sqlContext() { return session.sqlContext(); }

  public StructType schema() { return schema; }

  public int hashCode() { return request.hashCode(); }

  public boolean equals(Object other) {
    return other instanceof LogRows && ((LogRows) other).request.equals(request) && ((LogRows) other).version.equals(version);
  }

  public String toString() { return "LogRows " + request; }

  static boolean areIn(TreeNode plan) { return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof LogRows; }

  // The plan with rows, if all its nodes from the root on show which rows are needed; otherwise null.
  static TreeNode completed(TreeNode plan, Rule rule, Map query) {
    ArrayList above = new ArrayList();
    TreeNode leaf = plan;
    for (; !areIn(leaf); leaf = (TreeNode) ((scala.collection.Iterable) leaf.children()).head()) {
      if (!(leaf instanceof Filter || leaf instanceof Project || leaf instanceof LocalLimit || leaf instanceof GlobalLimit || leaf instanceof Sort)) return null;
      above.add(leaf);
    }
    LogRows rows = (LogRows) ((LogicalRelation) leaf).relation();
    TreeNode last = above.isEmpty() ? null : (TreeNode) above.get(above.size() - 1);
    String condition = last instanceof Filter ? Plans.describe(((Filter) last).condition()) : "";
    String pinned = query.containsKey(rows.request) ? (String) query.get(rows.request) : "";
    String[] facts = new String[] {"rows", rows.request, pinned, condition, "" + limit(above, (LogicalRelation) leaf)};
    String message = Python.message(facts) + Python.message(columns(above, (LogicalRelation) leaf));
    Object[] answer = (Object[]) Python.ask(rule.body, message, new Object[] {rows.session});
    query.put(rows.request, answer[3]);
    TreeNode made = local(Plans.named(((LogicalRelation) leaf).output(), (LogicalPlan) answer[1], rows.schema.fieldNames()));
    for (int i = above.size() - 1; i >= 0; i--) {
      final TreeNode child = made;
      made = Plans.mapChildren((TreeNode) above.get(i), new Plans.Change() { public Object apply(Object old) { return child; } });
      made = rule.withSubqueries(made, query);
      if (!(made instanceof LocalLimit)) made = local(made);  // a limit is two nodes, and Spark plans the upper one badly without the other
    }
    return made;
  }

  // Existing rows are computed here, so that a query that only selects some of them needs no job.
  private static TreeNode local(TreeNode plan) { return ConvertToLocalRelation$.MODULE$.apply((LogicalPlan) plan); }

  // The columns that are used.
  private static String[] columns(ArrayList above, LogicalRelation leaf) {
    java.util.HashSet used = new java.util.HashSet();
    boolean isProjected = false;
    for (int i = above.size() - 1; i >= 0 && !isProjected; i--) {
      note((LogicalPlan) above.get(i), used);
      isProjected = above.get(i) instanceof Project;
    }
    ArrayList names = new ArrayList();
    for (scala.collection.Iterator each = leaf.output().iterator(); each.hasNext();) {
      Attribute column = (Attribute) each.next();
      if (!isProjected || used.contains(column.exprId())) names.add(column.name());
    }
    return (String[]) names.toArray(new String[0]);
  }

  private static void note(LogicalPlan node, java.util.HashSet used) {
    for (scala.collection.Iterator each = node.references().iterator(); each.hasNext();) used.add(((Attribute) each.next()).exprId());
  }

  // The number of needed rows, and whether they are the oldest: "<count> <first or last>", or empty for all.
  private static String limit(ArrayList above, LogicalRelation leaf) {
    String order = "last";
    for (int i = above.size() - 1; i >= 0; i--) {
      Object node = above.get(i);
      if (node instanceof LocalLimit) {
        String count = ((LocalLimit) node).limitExpr().toString();
        return count.matches("\\d+") ? count + " " + order : "";
      }
      if (node instanceof Filter) return "";
      if (node instanceof Sort) {
        SortOrder by = (SortOrder) ((Sort) node).order().head();
        Attribute version = (Attribute) leaf.output().head();
        if (!((Sort) node).global() || !version.name().equals("version") || !by.child().semanticEquals(version)) return "";
        order = by.direction().sql().equals("DESC") ? "last" : "first";
      }
    }
    return "";
  }
}
