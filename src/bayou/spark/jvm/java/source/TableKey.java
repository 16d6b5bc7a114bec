// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

// What Spark's caches know a relation by: the table, the version that it had when the relation was made, and which rows are asked for.
// After a commit of the application's own the relations that read the latest version are those of the new one. Their caches are
// filled anew, and are for tables that are read from then on. Where another program wrote, they stay what they are.
public final class TableKey {
  private static final Set all = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap()));
  private final String table;
  private final String rows;
  private final String mark;
  private final boolean follows;
  private volatile String version;
  private volatile String id;

  // The table's URI, its version and id, which rows, what tells requests apart, and whether the rows are always the latest ones.
  public TableKey(String text) {
    String[] parts = text.split("\0", -1);
    this.table = parts[0];
    this.version = parts[1];
    this.id = parts[2];
    this.rows = parts[3];
    this.mark = parts[4];
    this.follows = parts[5].equals("true");
    if (follows) all.add(this);
  }

  private TableKey(TableKey other, String version) {
    this.table = other.table;
    this.version = version;
    this.id = other.id;
    this.rows = other.rows;
    this.mark = other.mark;
    this.follows = false;
  }

  // The same rows as they are in one version.
  TableKey at(String version) { return new TableKey(this, version); }

  public static void move(String table, String version, String id) {
    synchronized (all) {
      for (java.util.Iterator i = all.iterator(); i.hasNext();) {
        TableKey each = (TableKey) i.next();
        if (!each.table.equals(table)) continue;
        each.version = version;
        each.id = id;
      }
    }
  }

  // Keys change, so they are no keys of Java's: they have no `equals`.
  public boolean isSame(TableKey other) { return toString().equals(other.toString()); }

  public int code() { return table.hashCode(); }

  public String toString() { return table + "@" + version + " (" + rows + ") " + id + mark; }
}
