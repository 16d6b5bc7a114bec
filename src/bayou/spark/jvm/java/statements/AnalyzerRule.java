// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;

// The last rule of a session's analyzer. It replaces a DELETE, UPDATE or MERGE of a Delta table by the command that runs it, however the
// table is named: directly, by a view, after WITH, or by a parameter. It runs nothing. It replaces SHOW PARTITIONS and SHOW COLUMNS by
// their rows, because Spark's commands look for these in the catalog.
public class AnalyzerRule extends org.apache.spark.sql.catalyst.rules.Rule {
  private final BiFunction body;
  private final SESSION session;

  public AnalyzerRule(BiFunction body, SESSION session) {
    this.body = body;
    this.session = session;
  }

  public String ruleName() { return "bayou.AnalyzerRule"; }

  public TreeNode apply(TreeNode plan) {
    String name = plan.getClass().getSimpleName();
    if (name.equals("ShowPartitionsCommand") || name.equals("ShowColumnsCommand")) return (TreeNode) Python.ask(body, Python.message(new String[] {"command"}), new Object[] {plan});
    if (!Parser.changesRows(plan) || !((LogicalPlan) plan).resolved()) return plan;
    TreeNode table = (TreeNode) ((scala.collection.Iterable) plan.children()).head();
    if (!Rule.found(table)) return plan;
    session.sessionState().analyzer().checkAnalysis((LogicalPlan) plan);  // Spark checks only the result of this rule, not the statement
    return (TreeNode) Python.ask(body, Python.message(new String[] {"change", plan.nodeName()}), new Object[] {plan});
  }

  // Installs the rule on a running session, and on those created from it.
  public static void install(SESSION session, final BiFunction body) throws Exception {
    Analyzer analyzer = session.sessionState().analyzer();
    Field field = field(analyzer.getClass());
    field.setAccessible(true);
    ArrayList rules = new ArrayList();
    for (scala.collection.Iterator each = ((scala.collection.Iterable) field.get(analyzer)).iterator(); each.hasNext();) rules.add(each.next());
    rules.add(new AnalyzerRule(body, session));
    field.set(analyzer, org.apache.spark.api.python.PythonUtils.toSeq(rules));
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    extensions.injectPostHocResolutionRule(new Plans.Change() { public Object apply(Object made) { return new AnalyzerRule(body, (SESSION) made); } });
  }

  // A session's analyzer has an anonymous class, with the rules in a field that Spark reads for each query.
  private static Field field(Class type) throws NoSuchFieldException {
    for (Class each = type; each != Analyzer.class; each = each.getSuperclass()) {
      try {
        return each.getDeclaredField("postHocResolutionRules");
      } catch (NoSuchFieldException inherited) {
        // a superclass declares the field
      }
    }
    return Analyzer.class.getDeclaredField("postHocResolutionRules");
  }
}
