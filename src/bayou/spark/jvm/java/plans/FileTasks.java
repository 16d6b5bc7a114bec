// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

// Creates one task for all files with the same number, which is a constant of the file. In the scan each file has its own partition, and no
// row is shuffled after it.
public class FileTasks implements PartitionCoalescer, SERIALIZABLE {
  private final int count;
  private final int column;
  private final StringBuilder order = new StringBuilder();

  public FileTasks(int count, int column) {
    this.count = count;
    this.column = column;
  }

  public Object grouped(RDD rows) {
    RDD found = rows.coalesce(count, false, scala.Option.apply(this), null);
    found.partitions();
    return found;
  }

  // The files of each task in reading order: one per line, and NUL after the last line of a task.
  public String order() { return order.toString(); }

  public PartitionGroup[] coalesce(int most, RDD rows) {
    PartitionGroup[] groups = new PartitionGroup[count];
    StringBuilder[] texts = new StringBuilder[count];
    for (int i = 0; i < count; i++) {
      groups[i] = new PartitionGroup(scala.Option.empty());
      texts[i] = new StringBuilder();
    }
    Partition[] partitions = rows.partitions();
    for (int i = 0; i < partitions.length; i++) {
      PartitionedFile file = file(rows, partitions[i]);
      int task = file.partitionValues().getInt(column);
      groups[task].partitions().$plus$eq(partitions[i]);
      if (texts[task].length() > 0) texts[task].append('\n');
      texts[task].append(file.filePath().urlEncoded());
    }
    order.setLength(0);
    for (int i = 0; i < count; i++) order.append(texts[i]).append('\0');
    return groups;
  }

  // The file that a partition reads.
  private static PartitionedFile file(RDD rows, Partition partition) {
    if (partition instanceof FilePartition) {
      PartitionedFile[] files = ((FilePartition) partition).files();
      if (files.length != 1 || files[0].start() != 0 || files[0].length() != files[0].fileSize())
        throw new IllegalStateException("a partition of the scan is not one whole file");
      return files[0];
    }
    for (scala.collection.Iterator i = rows.dependencies().iterator(); i.hasNext();) {
      Dependency each = (Dependency) i.next();
      if (!(each instanceof NarrowDependency)) throw new IllegalStateException("the rows are shuffled");
      scala.collection.Iterator parents = ((NarrowDependency) each).getParents(partition.index()).iterator();
      if (!parents.hasNext()) continue;
      int parent = ((Integer) parents.next()).intValue();
      if (parents.hasNext()) throw new IllegalStateException("several partitions of the scan are one");
      return file(each.rdd(), each.rdd().partitions()[parent]);
    }
    throw new IllegalStateException("the rows are not read from files");
  }

  // Executors have only Spark's classes, and none of them uses this one. The method is public because Janino 3.1 turns private methods into
  // static ones with another name.
  public Object writeReplace() { return ""; }
}
