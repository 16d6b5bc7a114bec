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

// A table with a name that a statement or a writer is about: INSERT, ALTER TABLE, TRUNCATE TABLE, DataFrameWriterV2. Spark plans a query
// over the rows for a constraint, and the rule puts a command in its place. If Spark takes the table for one that a query reads, the rule
// puts the real relation in the place of this scan.
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
