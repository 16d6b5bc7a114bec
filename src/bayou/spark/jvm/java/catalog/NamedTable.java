// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

// A table of the catalog. Its entry has no columns, so a caller that asks for them gets those of the log.
public class NamedTable extends V1Table {
  private final WritableTable table;

  public NamedTable(CatalogTable entry, String name) {
    super(entry);
    this.table = new WritableTable(name, false);
  }

  public StructType schema() { return table.schema(); }

  public Column[] columns() { return new NoTable(schema()).columns(); }

  public Map properties() {
    Map found = new HashMap(super.properties());
    if ("".equals(found.get("owner"))) found.remove("owner");
    String[] more = ((String) WritableTable.ask("properties\0" + table.name() + "\0", null)).split("\0", -1);
    for (int i = 0; i + 1 < more.length; i += 2) found.put(more[i], more[i + 1]);
    return found;
  }

  public Transform[] partitioning() { return table.partitioning(); }
}
