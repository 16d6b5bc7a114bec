// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.trees.TreeNode;

// Installs the rule on sessions that are created from one with it, at their first query. They share its extensions, and ask these for rules
// during creation, when nothing can be installed on them yet.
public class NewSessions extends org.apache.spark.sql.catalyst.rules.Rule {
  private static final Map known = Collections.synchronizedMap(new WeakHashMap());
  // What else such a session gets.
  static final List more = new CopyOnWriteArrayList();

  private final SESSION session;
  private final Rule rule;
  private boolean done;

  public NewSessions(SESSION session, Rule rule) {
    this.session = session;
    this.rule = rule;
  }

  public String ruleName() { return "bayou.NewSessions"; }

  public TreeNode apply(TreeNode plan) {
    if (!done) {
      done = true;
      add(session, rule);
      for (Object each : more) ((Plans.Change) each).apply(session);
    }
    return plan;
  }

  public static boolean isOn(SESSION session) {
    for (scala.collection.Iterator i = session.experimental().extraOptimizations().iterator(); i.hasNext();) {
      if (i.next() instanceof Rule) return true;
    }
    return false;
  }

  // Adds a rule after the existing ones, once.
  public static void add(SESSION session, Rule rule) {
    if (isOn(session)) return;
    ExperimentalMethods methods = session.experimental();
    ArrayList rules = new ArrayList();
    for (scala.collection.Iterator i = methods.extraOptimizations().iterator(); i.hasNext();) rules.add(i.next());
    rules.add(rule);
    methods.extraOptimizations_$eq(org.apache.spark.api.python.PythonUtils.toSeq(rules));
  }

  public static void install(SESSION session, final Rule rule) throws Exception {
    add(session, rule);
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    if (known.put(extensions, Boolean.TRUE) != null) return;
    extensions.injectPostHocResolutionRule(new Plans.Change() { public Object apply(Object made) { return new NewSessions((SESSION) made, rule); } });
  }
}
