// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.internal.SQLConf;

// Sessions with pinned settings for one job of bayou; the user's session keeps its own. pinned_settings.py has the settings and the
// reasons. Pairs are name, value, name, value..., each ended by NUL. A setting that this Spark does not have is left out.
public class PinnedSettings {
  // Returns the session if it has all these values, otherwise a copy that has them.
  public static SESSION of(SESSION session, String pairs) throws Exception {
    String[] parts = pairs.split("\0", -1);
    SESSION copy = null;
    for (int i = 0; i + 1 < parts.length; i += 2) {
      String value = valueOf(session.sessionState().conf(), parts[i]);
      if (value == null || value.equals(parts[i + 1])) continue;
      if (copy == null) copy = copyOf(session);
      copy.sessionState().conf().setConfString(parts[i], parts[i + 1]);
    }
    return copy == null ? session : copy;
  }

  private static String valueOf(SQLConf settings, String name) {
    try {
      return settings.getConfString(name);
    } catch (Exception unknown) {  // Scala's NoSuchElementException: this Spark has no such setting
      return null;
    }
  }

  private static SESSION copyOf(SESSION session) throws Exception {
    return (SESSION) session.getClass().getMethod("cloneSession", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
  }
}
