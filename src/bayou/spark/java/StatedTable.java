// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.connector.catalog.TruncatableTable;

// A table with a name that a statement is about: INSERT, ALTER TABLE or TRUNCATE TABLE.
public class StatedTable extends WritableTable implements TruncatableTable {
  public StatedTable(String name) { super(name, false); }

  public boolean truncateTable() {
    ask("truncate\0" + name + "\0", null);
    return true;
  }
}
