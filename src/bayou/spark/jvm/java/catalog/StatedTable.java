// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

// A named table in a statement or a writer: INSERT, ALTER TABLE, TRUNCATE TABLE, DataFrameWriterV2. For a constraint Spark plans a query
// over its rows, which the rule replaces by a command. If Spark confuses it with a table that a query reads, the rule replaces this scan by
// the real relation.
public class StatedTable extends WritableTable implements TruncatableTable, SupportsRead {
  public StatedTable(String name, boolean isFrame) { super(name, isFrame); }

  public Set capabilities() {
    Set found = super.capabilities();
    found.add(TableCapability.BATCH_READ);
    return found;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { return new NoRows(schema()); }

  public boolean truncateTable() {
    ask("truncate\0" + name + "\0", null);
    return true;
  }

  public static class NoRows implements Scan, ScanBuilder {
    private final StructType schema;

    public NoRows(StructType schema) { this.schema = schema; }

    public Scan build() { return this; }

    public StructType readSchema() { return schema; }
  }
}
