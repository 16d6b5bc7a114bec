// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

// A table that DESCRIBE is about. Of a table of Spark's own kind it shows the catalog's entry, which knows nothing of the log.
public class DescribedTable implements Table {
  private final NamedTable table;

  public DescribedTable(NamedTable table) { this.table = table; }

  // With the catalog before it, as Spark shows the names of other tables. Before Spark 4 entries of its own catalog lack it.
  public String name() {
    boolean isPath = table.v1Table().identifier().table().indexOf('/') >= 0;
    return isPath || table.name().startsWith("spark_catalog.") ? table.name() : "spark_catalog." + table.name();
  }

  public StructType schema() { return table.schema(); }

  public Column[] columns() { return table.columns(); }

  public Transform[] partitioning() { return table.partitioning(); }

  // Of the kind there is a row already.
  public Map properties() {
    Map found = new HashMap(table.properties());
    found.remove("table_type");
    return found;
  }

  public Set capabilities() { return Collections.EMPTY_SET; }
}
