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

// A table for DESCRIBE. For Spark's own kind of table it shows the catalog's entry, which does not know the log.
public class DescribedTable implements Table {
  private final NamedTable table;

  public DescribedTable(NamedTable table) { this.table = table; }

  // With the catalog's name first, as Spark shows the names of other tables. Before Spark 4 the entries of its own catalog lack it.
  public String name() {
    boolean isPath = table.v1Table().identifier().table().indexOf('/') >= 0;
    return isPath || table.name().startsWith("spark_catalog.") ? table.name() : "spark_catalog." + table.name();
  }

  public StructType schema() { return table.schema(); }

  public Column[] columns() { return table.columns(); }

  public Transform[] partitioning() { return table.partitioning(); }

  // The provider is left out, because it already has a row.
  public Map properties() {
    Map found = new HashMap(table.properties());
    found.remove("table_type");
    return found;
  }

  public Set capabilities() { return Collections.EMPTY_SET; }
}
