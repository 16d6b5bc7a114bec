// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf$;

// The settings of a thread without an active session, such as a new Python thread. Spark would use its defaults there, and its writers would
// miss the session's catalog. This returns the settings of the session in which Spark runs such a thread's queries. It replaces the field
// with Spark's defaults, which new sessions do not change. They do change Spark's getter of settings.
public class SessionSettings extends ThreadLocal {
  private final ThreadLocal defaults;

  private SessionSettings(ThreadLocal defaults) { this.defaults = defaults; }

  public Object get() {
    scala.Option session = SparkSession.getActiveSession();
    if (session.isEmpty() || isStopped(session)) session = SparkSession.getDefaultSession();
    if (session.isEmpty() || isStopped(session)) return defaults.get();
    return ((SESSION) session.get()).sessionState().conf();
  }

  private static boolean isStopped(scala.Option session) { return ((SESSION) session.get()).sparkContext().isStopped(); }

  public static synchronized void install() throws Exception {
    SQLConf$.MODULE$.getFallbackConf();  // Scala initializes the field at its first use
    Field field = SQLConf$.class.getDeclaredField("fallbackConf");
    field.setAccessible(true);
    Object there = field.get(SQLConf$.MODULE$);
    if (!(there instanceof SessionSettings)) field.set(SQLConf$.MODULE$, new SessionSettings((ThreadLocal) there));
  }
}
