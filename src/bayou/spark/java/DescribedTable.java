// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Collections;
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

  public String name() { return table.name(); }

  public StructType schema() { return table.schema(); }

  public Column[] columns() { return table.columns(); }

  public Transform[] partitioning() { return table.partitioning(); }

  public Map properties() { return table.properties(); }

  public Set capabilities() { return Collections.EMPTY_SET; }
}
