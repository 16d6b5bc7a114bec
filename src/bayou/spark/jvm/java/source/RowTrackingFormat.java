// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;

// The format of a table with row tracking: `_metadata` has the row ids. The optimizer rule computes them; this class reads no file.
public class RowTrackingFormat extends ParquetFileFormat {
  // The marks are delta-spark's.
  private static final String[][] FIELDS = {
    {"row_id", "__row_id_metadata_col"}, {"base_row_id", "__base_row_id_metadata_col"},
    {"default_row_commit_version", "__default_row_version_metadata_col"}, {"row_commit_version", "__row_commit_version_metadata_col"},
  };

  public SEQ metadataSchemaFields() {
    java.util.ArrayList fields = new java.util.ArrayList();
    for (scala.collection.Iterator i = super.metadataSchemaFields().iterator(); i.hasNext();) fields.add(i.next());
    for (int i = 0; i < FIELDS.length; i++)
      fields.add(new StructField(FIELDS[i][0], LongType$.MODULE$, false, new MetadataBuilder().putBoolean(FIELDS[i][1], true).build()));
    return org.apache.spark.api.python.PythonUtils.toSeq(fields);
  }
}
