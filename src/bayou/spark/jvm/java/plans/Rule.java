// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.sources.BaseRelation;

// Finds bayou's relations in a plan and replaces them by Python's answers. It runs nothing, because EXPLAIN plans too.
public class Rule extends org.apache.spark.sql.catalyst.rules.Rule {
  // Decisions that hold for a whole query, such as the version of each table: one map for each planning.
  private static final Map queries = Collections.synchronizedMap(new WeakHashMap());
  private static final Object PUSH_DOWN = new Object();
  final BiFunction body;

  public Rule(BiFunction body) { this.body = body; }

  public String ruleName() { return "bayou"; }

  public TreeNode apply(TreeNode plan) {
    NewTable.note(plan);
    if (plan instanceof org.apache.spark.sql.execution.command.RunnableCommand) return statement(plan);
    if (plan.nodeName().equals("AddCheckConstraint") || plan.nodeName().equals("DropConstraint"))
      return (TreeNode) Python.ask(body, Python.message(new String[] {"constraint"}), new Object[] {plan});
    plan = withWrites(plan);
    if (readsStated(plan)) plan = org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$.MODULE$.apply((LogicalPlan) withReads(plan));
    if (!found(plan)) return plan;
    Map query = query();
    LogicalPlan changed = (LogicalPlan) rewrite(plan, query);
    if (query.remove(PUSH_DOWN) != null) {
      changed = org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$.MODULE$.apply(changed);
      changed = org.apache.spark.sql.catalyst.optimizer.ColumnPruning$.MODULE$.apply(
          org.apache.spark.sql.catalyst.optimizer.CollapseProject$.MODULE$.apply(changed));
    }
    return (TreeNode) org.apache.spark.sql.catalyst.analysis.UpdateAttributeNullability$.MODULE$.apply(changed);
  }

  // One INSERT, or several that share a query.
  private static TreeNode withWrites(TreeNode plan) {
    if (plan instanceof V2WriteCommand) return writing((V2WriteCommand) plan);
    if (!(plan instanceof Union)) return plan;
    return Plans.mapChildren(plan, new Plans.Change() { public Object apply(Object child) { return withWrites((TreeNode) child); } });
  }

  // The tables that a subquery of an INSERT reads, if they are also its target: Spark confuses the two.
  private static TreeNode withReads(TreeNode plan) {
    if (!isStated(plan)) return Plans.mapChildren(plan, new Plans.Change() { public Object apply(Object child) { return withReads((TreeNode) child); } });
    DataSourceV2ScanRelation scan = (DataSourceV2ScanRelation) plan;
    LogicalRelation read = LogicalRelation$.MODULE$.apply((BaseRelation) WritableTable.ask("relation\0" + scan.relation().table().name() + "\0", null), false);
    return Plans.named(scan.output(), read, scan.schema().fieldNames());
  }

  private static boolean isStated(TreeNode plan) {
    return plan instanceof DataSourceV2ScanRelation && ((DataSourceV2ScanRelation) plan).scan() instanceof StatedTable.NoRows;
  }

  private static boolean readsStated(TreeNode plan) {
    if (isStated(plan)) return true;
    scala.collection.Iterator children = ((scala.collection.Iterable) plan.children()).iterator();
    while (children.hasNext()) if (readsStated((TreeNode) children.next())) return true;
    return false;
  }

  // Rows for a named table. Spark's older commands do not have dynamic partitions, and lose the SQL of a condition.
  private static TreeNode writing(V2WriteCommand plan) {
    if (!(plan.table() instanceof DataSourceV2Relation) || !(((DataSourceV2Relation) plan.table()).table() instanceof WritableTable)) return (TreeNode) plan;
    scala.Option write = plan instanceof AppendData ? ((AppendData) plan).write()
        : plan instanceof OverwriteByExpression ? ((OverwriteByExpression) plan).write() : ((OverwritePartitionsDynamic) plan).write();
    WritableTable.Rows rows = (WritableTable.Rows) write.get();
    rows.note(plan.isByName(), evolves(plan), plan instanceof OverwriteByExpression ? ((OverwriteByExpression) plan).deleteExpr().sql() : "");
    if (!(plan instanceof OverwritePartitionsDynamic)) return (TreeNode) plan;
    LogicalRelation target = LogicalRelation$.MODULE$.apply(rows.relation(), false);
    return new InsertIntoDataSourceCommand(target, plan.query(), true);
  }

  // INSERT WITH SCHEMA EVOLUTION, from Spark 4.2 on.
  private static boolean evolves(V2WriteCommand plan) {
    try {
      return Boolean.TRUE.equals(plan.getClass().getMethod("withSchemaEvolution", new Class[0]).invoke(plan, new Object[0]));
    } catch (NoSuchMethodException older) {
      return false;
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private static Map query() {
    Object tracker = org.apache.spark.sql.catalyst.QueryPlanningTracker$.MODULE$.get().getOrElse(null);
    if (tracker == null) return new HashMap();
    return (Map) queries.computeIfAbsent(tracker, NEW_MAP);
  }

  private static final java.util.function.Function NEW_MAP = new java.util.function.Function() {
    public Object apply(Object ignored) { return Collections.synchronizedMap(new HashMap()); }
  };

  // A Delta table that Spark itself creates with its rows, as on a session without bayou's catalog.
  private static boolean isDeltaCreation(TreeNode plan) {
    if (!(plan instanceof CreateDataSourceTableAsSelectCommand)) return false;
    scala.Option provider = ((CreateDataSourceTableAsSelectCommand) plan).table().provider();
    return provider.isDefined() && ((String) provider.get()).equalsIgnoreCase("delta");
  }

  private TreeNode statement(TreeNode plan) {
    String name = plan.getClass().getSimpleName();
    if (!name.equals("CreateTableLikeCommand") && !name.equals("TruncateTableCommand") && !name.equals("LoadDataCommand")
        && !name.equals("AnalyzePartitionCommand") && !name.equals("InsertIntoDataSourceDirCommand") && !name.equals("RepairTableCommand") && !isDeltaCreation(plan)
        && !(name.startsWith("AlterTable") && !name.equals("AlterTableRenameCommand"))
        && !(name.matches("AnalyzeTableCommand|AnalyzeColumnCommand|AlterTableRenameCommand|DropTableCommand") && namesPath(plan))) return plan;
    return (TreeNode) Python.ask(body, Python.message(new String[] {"command"}), new Object[] {plan});
  }

  // Spark's own commands for named tables. Its catalog has no entry for a path.
  private static boolean namesPath(TreeNode plan) {
    if (Boolean.TRUE.equals(Nodes.part(plan, "isView"))) return false;  // DROP VIEW: a path is never a view
    for (scala.collection.Iterator each = ((scala.Product) plan).productIterator(); each.hasNext();) {
      Object part = each.next();
      if (part instanceof TableIdentifier && ((TableIdentifier) part).table().indexOf('/') >= 0) return true;
    }
    return false;
  }

  static boolean ours(TreeNode plan) {
    return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation
        && ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location() instanceof Refusing;
  }

  static boolean found(TreeNode plan) {
    if (ours(plan) || LogRows.areIn(plan)) return true;
    scala.collection.Iterator children = ((scala.collection.Iterable) plan.children()).iterator();
    while (children.hasNext()) if (found((TreeNode) children.next())) return true;
    return false;
  }

  private TreeNode rewrite(TreeNode plan, final Map query) {
    ArrayList chain = chain(plan);
    if (chain != null) return complete(chain, query);
    TreeNode rows = LogRows.completed(plan, this, query);
    if (rows != null) return rows;
    TreeNode changed = Plans.mapChildren(plan, new Plans.Change() { public Object apply(Object child) { return rewrite((TreeNode) child, query); } });
    return withSubqueries(changed, query);
  }

  // A filter may contain the plan of another query: dynamic partition pruning and runtime filters insert theirs late.
  TreeNode withSubqueries(TreeNode plan, final Map query) {
    if (!(plan instanceof Filter)) return plan;
    return (TreeNode) ((QueryPlan) plan).mapExpressions(new Plans.Change() {
      public Object apply(Object expression) {
        if (expression instanceof PlanExpression && found(((PlanExpression) expression).plan()))
          return ((PlanExpression) expression).withNewPlan((QueryPlan) rewrite(((PlanExpression) expression).plan(), query));
        return Plans.mapChildren((TreeNode) expression, this);
      }
    });
  }

  // The nodes from this one down to a relation of bayou, if a scan may use all of them; otherwise null.
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

  // Python's answer: the position of the node to replace, the replacement, and the names of its columns.
  public static Object[] answer(int position, TreeNode plan, String names, String version, boolean pushDown) {
    return new Object[] {Integer.valueOf(position), plan, names, version, Boolean.valueOf(pushDown)};
  }

  private TreeNode complete(ArrayList chain, Map query) {
    ArrayList names = new ArrayList();
    for (Object node : chain) names.add(((TreeNode) node).nodeName());
    int last = chain.size() - 1;
    LogicalRelation leaf = (LogicalRelation) chain.get(last);
    HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
    String table = ((Refusing) relation.location()).table();
    String version = query.containsKey(table) ? (String) query.get(table) : "";
    String condition = last > 0 && chain.get(last - 1) instanceof Filter ? Plans.describe(((Filter) chain.get(last - 1)).condition()) : "";
    String transaction = relation.sparkSession().sparkContext().getLocalProperty("bayou.transaction");
    String[] facts = new String[] {"scan", transaction == null ? "" : transaction, String.join(" ", names), table, version, leaf.schema().json(), condition};
    Object[] answer = (Object[]) Python.ask(body, Python.message(facts), new Object[] {chain.toArray(), relation.sparkSession()});
    query.put(table, answer[3]);
    if (answer[4].equals(Boolean.TRUE)) query.put(PUSH_DOWN, Boolean.TRUE);
    int position = ((Integer) answer[0]).intValue();
    TreeNode made = (TreeNode) answer[1];
    if (position == last) made = Plans.named(leaf.output(), (LogicalPlan) made, ((String) answer[2]).split("\0"));
    for (int i = position - 1; i >= 0; i--) {
      final TreeNode child = made;
      made = Plans.mapChildren((TreeNode) chain.get(i), new Plans.Change() { public Object apply(Object old) { return child; } });
      made = withSubqueries(made, query);
    }
    return made;
  }
}
