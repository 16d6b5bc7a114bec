// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.*;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.*;

// Finds bayou's relations in a plan and puts what Python answers in their place. It runs nothing itself: EXPLAIN plans too.
public class Rule extends org.apache.spark.sql.catalyst.rules.Rule {
  // What one query has settled already, such as the version of each table: one map for each planning.
  private static final Map queries = Collections.synchronizedMap(new WeakHashMap());
  private final BiFunction body;

  public Rule(BiFunction body) { this.body = body; }

  public String ruleName() { return "bayou"; }

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof org.apache.spark.sql.execution.command.RunnableCommand) return statement(plan, "command");
    if (!found(plan)) return plan;
    Map query = query();
    LogicalPlan changed = (LogicalPlan) rewrite(plan, query);
    if (query.remove("push down") != null) {
      changed = org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$.MODULE$.apply(changed);
      changed = org.apache.spark.sql.catalyst.optimizer.ColumnPruning$.MODULE$.apply(
          org.apache.spark.sql.catalyst.optimizer.CollapseProject$.MODULE$.apply(changed));
    }
    return (TreeNode) org.apache.spark.sql.catalyst.analysis.UpdateAttributeNullability$.MODULE$.apply(changed);
  }

  private static Map query() {
    Object tracker = org.apache.spark.sql.catalyst.QueryPlanningTracker$.MODULE$.get().getOrElse(null);
    if (tracker == null) return new HashMap();
    return (Map) queries.computeIfAbsent(tracker, NEW_MAP);
  }

  private static final java.util.function.Function NEW_MAP = new java.util.function.Function() {
    public Object apply(Object ignored) { return Collections.synchronizedMap(new HashMap()); }
  };

  private TreeNode statement(TreeNode plan, String kind) {
    String name = plan.getClass().getSimpleName();
    if (!name.equals("TruncateTableCommand") && !name.equals("LoadDataCommand")
        && !(name.startsWith("AlterTable") && !name.equals("AlterTableRenameCommand"))) return plan;
    return (TreeNode) body.apply(kind, new ArrayList(Arrays.asList(new Object[] {plan})));
  }

  static boolean ours(TreeNode plan) {
    return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation
        && ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location() instanceof Refusing;
  }

  static boolean found(TreeNode plan) {
    if (ours(plan)) return true;
    scala.collection.Iterator children = ((scala.collection.Iterable) plan.children()).iterator();
    while (children.hasNext()) if (found((TreeNode) children.next())) return true;
    return false;
  }

  private TreeNode rewrite(TreeNode plan, final Map query) {
    String name = plan.nodeName();
    if (name.equals("DeleteFromTable") || name.equals("UpdateTable") || name.equals("MergeIntoTable"))
      return (TreeNode) body.apply("change", new ArrayList(Arrays.asList(new Object[] {plan})));
    ArrayList chain = chain(plan);
    if (chain != null) return complete(chain, query);
    TreeNode changed = Plans.mapChildren(plan, new Plans.Change() { public Object apply(Object child) { return rewrite((TreeNode) child, query); } });
    return withSubqueries(changed, query);
  }

  // A filter may hold the plan of another query: dynamic partition pruning and runtime filters put theirs in late.
  private TreeNode withSubqueries(TreeNode plan, final Map query) {
    if (!(plan instanceof Filter)) return plan;
    return (TreeNode) ((QueryPlan) plan).mapExpressions(new Plans.Change() {
      public Object apply(Object expression) {
        if (expression instanceof PlanExpression && found(((PlanExpression) expression).plan()))
          return ((PlanExpression) expression).withNewPlan((QueryPlan) rewrite(((PlanExpression) expression).plan(), query));
        return Plans.mapChildren((TreeNode) expression, this);
      }
    });
  }

  // The nodes from this one down to a relation of ours, where a scan may look at all of them; else null.
  private static ArrayList chain(TreeNode plan) {
    ArrayList nodes = new ArrayList();
    while (!ours(plan)) {
      if (!(plan instanceof Filter || plan instanceof Project || plan instanceof LocalLimit
          || plan instanceof Aggregate && ((Aggregate) plan).groupingExpressions().isEmpty())) return null;
      nodes.add(plan);
      plan = (TreeNode) ((scala.collection.Iterable) plan.children()).head();
    }
    nodes.add(plan);
    return nodes;
  }

  // Python answers with the position of the node that it replaces, and what stands there instead.
  private TreeNode complete(ArrayList chain, Map query) {
    ArrayList names = new ArrayList();
    for (Object node : chain) names.add(((TreeNode) node).nodeName());
    LogicalRelation leaf = (LogicalRelation) chain.get(chain.size() - 1);
    HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
    List answer = (List) body.apply("scan", new ArrayList(Arrays.asList(new Object[] {
        chain, String.join(" ", names), ((Refusing) relation.location()).table(), leaf.schema().json(), query, relation.sparkSession()})));
    int position = ((Number) answer.get(0)).intValue();
    TreeNode made = (TreeNode) answer.get(1);
    if (position == chain.size() - 1) made = Plans.named(leaf.output(), (LogicalPlan) made, (List) answer.get(2));
    for (int i = position - 1; i >= 0; i--) {
      final TreeNode child = made;
      made = Plans.mapChildren((TreeNode) chain.get(i), new Plans.Change() { public Object apply(Object old) { return child; } });
      made = withSubqueries(made, query);
    }
    return made;
  }
}
