// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogManager;

// Completes names such as delta.`/data/t` while another catalog is the current one: Spark would look for a namespace `delta` in that. They
// get the name of the session's own catalog, if such names are enabled.
public final class PathNames {
  private PathNames() {}

  // Whether the SQL may contain such a name, and names must be completed.
  static boolean areMeant(String text, SESSION session) {
    if (text.indexOf('/') < 0 || !text.toLowerCase(Locale.ROOT).contains("delta")) return false;
    CatalogManager catalogs = session.sessionState().catalogManager();
    return !catalogs.currentCatalog().name().equals("spark_catalog") && !catalogs.isCatalogRegistered("delta");
  }

  static SEQ completed(SEQ name) {
    if (name.size() != 2 || !((String) name.apply(0)).equalsIgnoreCase("delta") || ((String) name.apply(1)).indexOf('/') < 0) return name;
    return org.apache.spark.api.python.PythonUtils.toSeq(Arrays.asList(new Object[] {"spark_catalog", name.apply(0), name.apply(1)}));
  }

  // Completes a parsed statement. In some statements the target is not a child.
  static TreeNode completed(TreeNode plan) {
    final TreeNode node = Plans.mapChildren(plan, new Plans.Change() { public Object apply(Object child) { return completed((TreeNode) child); } });
    if (!(node instanceof LogicalPlan)) return node;
    ArrayList children = new ArrayList(), arguments = new ArrayList();
    for (scala.collection.Iterator i = ((scala.collection.Iterable) node.children()).iterator(); i.hasNext();) children.add(i.next());
    boolean isName = node.getClass().getSimpleName().startsWith("Unresolved"), changes = false;
    for (scala.collection.Iterator i = ((scala.Product) node).productIterator(); i.hasNext();) {
      Object given = i.next(), made = given;
      if (given instanceof LogicalPlan && !children.contains(given)) made = completed((TreeNode) given);
      else if (isName && arguments.isEmpty() && isTexts(given)) made = completed((SEQ) given);
      changes = changes || made != given;
      arguments.add(made);
    }
    return changes ? node.makeCopy(arguments.toArray()) : node;
  }

  private static boolean isTexts(Object given) {
    if (!(given instanceof SEQ)) return false;
    for (scala.collection.Iterator i = ((SEQ) given).iterator(); i.hasNext();) if (!(i.next() instanceof String)) return false;
    return true;
  }
}
