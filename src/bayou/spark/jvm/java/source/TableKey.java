// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

// The key of a relation in Spark's caches: the table, the version that it had when the relation was created, and the requested rows.
// After a commit of this application, relations of the latest version become those of the new one. Their caches are recomputed, and serve
// later reads of the table. After a commit of another program they stay unchanged.
public final class TableKey {
  private static final Set all = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap()));
  private final String table;
  private final String rows;
  private final String mark;
  private final boolean follows;
  private volatile String version;
  private volatile String id;

  // The table's URI, its version and id, the rows, what distinguishes requests, and whether the rows are always the latest ones.
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

  // The same rows at one version.
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

  // Keys change, so they cannot be keys of a Java map and have no `equals`.
  public boolean isSame(TableKey other) { return toString().equals(other.toString()); }

  public int code() { return table.hashCode(); }

  public String toString() { return table + "@" + version + " (" + rows + ") " + id + mark; }
}
