// SPDX-License-Identifier: Apache-2.0
package bayou;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CheckOverflowInTableInsert;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.Iterator;

// Operates on lists of expressions. One py4j call per column of a wide table would take minutes.
public class Columns {
  private static final SEQ NOTHING = org.apache.spark.api.python.PythonUtils.toSeq(new ArrayList());

  private static SEQ seq(List items) { return org.apache.spark.api.python.PythonUtils.toSeq(items); }

  public static ArrayList listOf(SEQ items) {
    ArrayList found = new ArrayList();
    for (Iterator i = items.iterator(); i.hasNext();) found.add(i.next());
    return found;
  }

  // Creates unresolved expressions. An item is an array of the parts of a name, {"name": a name}, {"sql": SQL of the user},
  // {"own": SQL of bayou}, or null for the next one of `others`.
  public static ArrayList made(String items, List others, SESSION session, String defaults) throws Exception {
    ParserInterface parser = session.sessionState().sqlParser();
    OwnSql own = new OwnSql(session, defaults);
    JsonNode wanted = new ObjectMapper().readTree(items);
    java.util.Iterator other = others.iterator();
    ArrayList found = new ArrayList();
    for (int i = 0; i < wanted.size(); i++) {
      JsonNode item = (JsonNode) wanted.get(i);
      if (item.isNull()) found.add(other.next());
      else if (item.isArray()) found.add(UnresolvedAttribute$.MODULE$.apply(seq(texts(item))));
      else if (item.has("name")) found.add(UnresolvedAttribute$.MODULE$.quotedString(((JsonNode) item.get("name")).asText()));
      else if (item.has("own")) found.add(own.parsed(((JsonNode) item.get("own")).asText()));
      else found.add(parser.parseExpression(((JsonNode) item.get("sql")).asText()));
    }
    return found;
  }

  private static ArrayList texts(JsonNode array) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < array.size(); i++) found.add(((JsonNode) array.get(i)).asText());
    return found;
  }

  public static LogicalPlan project(List columns, LogicalPlan plan) { return new Project(seq(columns), plan); }

  private static Alias alias(Expression value, String name) {
    return new Alias(value, name, NamedExpression$.MODULE$.newExprId(), NOTHING, scala.Option.empty(), NOTHING);
  }

  public static ArrayList aliased(List values, String prefix) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < values.size(); i++) found.add(alias((Expression) values.get(i), prefix + i));
    return found;
  }

  public static ArrayList children(SEQ parents) {
    ArrayList found = new ArrayList();
    for (Iterator i = parents.iterator(); i.hasNext();) found.add(((TreeNode) i.next()).children().head());
    return found;
  }

  // A condition that contains some values; `valuesIn` reads them from it.
  public static Expression conditionOf(List values) {
    ArrayList members = new ArrayList();
    for (int i = 0; i < values.size(); i++) {
      members.add(Literal$.MODULE$.apply("v" + i));
      members.add(values.get(i));
    }
    return new IsNotNull(new CreateNamedStruct(seq(members)));
  }

  public static ArrayList valuesIn(Expression condition) {
    ArrayList found = new ArrayList();
    Iterator members = ((TreeNode) condition.children().head()).children().iterator();
    while (members.hasNext()) {
      members.next();
      found.add(members.next());
    }
    return found;
  }

  public static SEQ toThemselves(List names) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < names.size(); i++) found.add(new Assignment((Expression) names.get(i), (Expression) names.get(i)));
    return seq(found);
  }

  public static ArrayList keys(SEQ assignments) {
    ArrayList found = new ArrayList();
    for (Iterator i = assignments.iterator(); i.hasNext();) found.add(((Assignment) i.next()).key());
    return found;
  }

  public static ArrayList values(SEQ assignments) {
    ArrayList found = new ArrayList();
    for (Iterator i = assignments.iterator(); i.hasNext();) found.add(((Assignment) i.next()).value());
    return found;
  }

  public static ArrayList asGiven(List values) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < values.size(); i++) found.add(Plans.asGiven((Expression) values.get(i)));
    return found;
  }

  // Values with errors that name the columns for which Spark cast them.
  public static ArrayList withNamedOverflow(List values, String names) throws java.io.IOException {
    List named = texts(new ObjectMapper().readTree(names));
    ArrayList found = new ArrayList();
    for (int i = 0; i < values.size(); i++) {
      Expression value = (Expression) values.get(i);
      boolean isCast = value instanceof Cast && value.getTagValue(Cast$.MODULE$.BY_TABLE_INSERTION()).isDefined();
      found.add(isCast ? new CheckOverflowInTableInsert(value, (String) named.get(i)) : value);
    }
    return found;
  }

  // Creates columns. The places of each column are positions in `given`: pairs of a condition and a value, then the default value. The first
  // true condition decides.
  public static ArrayList chosen(String places, List given, String names) throws java.io.IOException {
    JsonNode wanted = new ObjectMapper().readTree(places);
    List named = texts(new ObjectMapper().readTree(names));
    ArrayList found = new ArrayList();
    for (int i = 0; i < wanted.size(); i++) {
      ArrayList branches = new ArrayList();
      JsonNode each = (JsonNode) wanted.get(i);
      int last = each.size() - 1;
      for (int j = 0; j < last; j += 2) branches.add(new scala.Tuple2(given.get(at(each, j)), given.get(at(each, j + 1))));
      Expression value = (Expression) given.get(at(each, last));
      if (!branches.isEmpty()) value = new CaseWhen(seq(branches), scala.Option.apply(value));
      String name = (String) named.get(i);
      found.add(value instanceof Attribute && value.resolved() && ((Attribute) value).name().equals(name) ? value : alias(value, name));
    }
    return found;
  }

  private static int at(JsonNode array, int place) { return ((JsonNode) array.get(place)).asInt(); }

  // Facts about each expression, each ended by NUL.
  public static String trees(List values) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < values.size(); i++) text.append(((Expression) values.get(i)).toJSON()).append('\0');
    return text.toString();
  }

  public static String types(List values) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < values.size(); i++) text.append(((Expression) values.get(i)).dataType().json()).append('\0');
    return text.toString();
  }

  // The same for columns.
  public static String names(SEQ columns) {
    StringBuilder text = new StringBuilder();
    for (Iterator i = columns.iterator(); i.hasNext();) text.append(((Attribute) i.next()).name()).append('\0');
    return text.toString();
  }

  public static String ids(SEQ columns) {
    StringBuilder text = new StringBuilder();
    for (Iterator i = columns.iterator(); i.hasNext();) text.append(((Attribute) i.next()).exprId().id()).append('\0');
    return text.toString();
  }

  // The positions of the parsed word DEFAULT, each ended by NUL.
  public static String defaults(List values) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < values.size(); i++) {
      if (!(values.get(i) instanceof UnresolvedAttribute)) continue;
      SEQ parts = ((UnresolvedAttribute) values.get(i)).nameParts();
      if (parts.size() == 1 && ((String) parts.head()).equalsIgnoreCase("DEFAULT")) text.append(i).append('\0');
    }
    return text.toString();
  }

  // The names of the classes of all nodes of some expressions, each once and ended by NUL.
  public static String nodes(List values) {
    java.util.LinkedHashSet found = new java.util.LinkedHashSet();
    for (int i = 0; i < values.size(); i++) addNodes((TreeNode) values.get(i), found);
    StringBuilder text = new StringBuilder();
    for (java.util.Iterator i = found.iterator(); i.hasNext();) text.append((String) i.next()).append('\0');
    return text.toString();
  }

  private static void addNodes(TreeNode node, java.util.Set found) {
    found.add(node.getClass().getSimpleName());
    for (Iterator i = node.children().iterator(); i.hasNext();) addNodes((TreeNode) i.next(), found);
  }

  // Those of some columns that some expressions use, in order of use.
  public static ArrayList used(List values, SEQ columns) {
    java.util.HashSet known = new java.util.HashSet();
    for (Iterator i = columns.iterator(); i.hasNext();) known.add(Long.valueOf(((Attribute) i.next()).exprId().id()));
    ArrayList found = new ArrayList();
    for (int i = 0; i < values.size(); i++) {
      for (Iterator j = ((Expression) values.get(i)).references().toSeq().iterator(); j.hasNext();) {
        Attribute each = (Attribute) j.next();
        if (known.remove(Long.valueOf(each.exprId().id()))) found.add(each);
      }
    }
    return found;
  }
}
