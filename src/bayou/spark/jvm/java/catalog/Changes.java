// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Method;
import org.apache.spark.sql.connector.catalog.ColumnDefaultValue;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.DataType;

// Encodes the changes of an ALTER TABLE statement: the class of each and its values, by reflection, because they differ between versions.
public class Changes {
  public static String words(TableChange[] changes) throws Exception {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < changes.length; i++) {
      text.append(i == 0 ? "" : "\3").append(changes[i].getClass().getSimpleName());
      Method[] facts = changes[i].getClass().getDeclaredMethods();
      for (int j = 0; j < facts.length; j++) {
        if (facts[j].getParameterCount() != 0 || facts[j].getName().equals("hashCode") || facts[j].getName().equals("toString")) continue;
        facts[j].setAccessible(true);
        String word = word(facts[j].invoke(changes[i], new Object[0]));
        if (word != null) text.append('\1').append(facts[j].getName()).append('=').append(word);
      }
    }
    return text.toString();
  }

  private static String word(Object fact) throws Exception {
    if (fact instanceof String[]) return String.join("\2", (String[]) fact);
    if (fact instanceof DataType) return ((DataType) fact).json();
    if (fact instanceof TableChange.After) return "AFTER\2" + ((TableChange.After) fact).column();
    if (fact instanceof NamedReference[]) {
      StringBuilder text = new StringBuilder();
      NamedReference[] columns = (NamedReference[]) fact;
      for (int i = 0; i < columns.length; i++) text.append(i == 0 ? "" : "\4").append(String.join("\2", columns[i].fieldNames()));
      return text.toString();
    }
    if (fact instanceof ColumnDefaultValue) {
      Method sql = ColumnDefaultValue.class.getMethod("getSql", new Class[0]);
      sql.setAccessible(true);  // its class may not be public
      return (String) sql.invoke(fact, new Object[0]);
    }
    return fact instanceof String || fact instanceof Boolean || fact instanceof TableChange.First ? fact.toString() : null;
  }
}
