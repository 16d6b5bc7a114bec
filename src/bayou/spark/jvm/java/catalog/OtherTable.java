// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

// A table of another source that a statement creates with its rows. It is created immediately, and dropped if the rows fail.
public class OtherTable implements StagedTable, SupportsWrite {
  private final TableCatalog catalog;
  private final Identifier name;
  private final Table made;

  public OtherTable(TableCatalog catalog, Identifier name, Table made) {
    this.catalog = catalog;
    this.name = name;
    this.made = made;
  }

  public String name() { return made.name(); }

  public StructType schema() { return made.schema(); }

  public Column[] columns() { return made.columns(); }

  public Transform[] partitioning() { return made.partitioning(); }

  public Map properties() { return made.properties(); }

  public Set capabilities() { return made.capabilities(); }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return ((SupportsWrite) made).newWriteBuilder(info); }

  public void commitStagedChanges() {}

  public void abortStagedChanges() { catalog.dropTable(name); }
}
