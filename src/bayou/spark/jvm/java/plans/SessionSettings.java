// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf$;

// The settings of a thread where no session is active, such as a new thread of Python's. Spark takes its defaults there, and its writers
// miss the session's catalog. With this they take the settings of the session that Spark itself runs such a thread's queries in.
// This stands where Spark keeps its defaults, which no session that is made touches. Spark's getter of settings is set by each of them.
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
    SQLConf$.MODULE$.getFallbackConf();  // Scala makes the field's value at its first use
    Field field = SQLConf$.class.getDeclaredField("fallbackConf");
    field.setAccessible(true);
    Object there = field.get(SQLConf$.MODULE$);
    if (!(there instanceof SessionSettings)) field.set(SQLConf$.MODULE$, new SessionSettings((ThreadLocal) there));
  }
}
