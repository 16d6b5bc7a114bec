// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf$;

// The settings of a thread. Spark takes its defaults in one where no session is active, such as a new thread of Python's, and its writers
// would miss the session's catalog there. Here they are those of the session that Spark itself runs such a thread's queries in.
// Each session that is made puts Spark's own way back, so every query says again what is wanted.
public class SessionSettings extends scala.runtime.AbstractFunction0 {
  public Object apply() {
    scala.Option session = SparkSession.getActiveSession();
    if (session.isEmpty() || isStopped(session)) session = SparkSession.getDefaultSession();
    if (session.isEmpty() || isStopped(session)) return SQLConf$.MODULE$.getFallbackConf();
    return ((SESSION) session.get()).sessionState().conf();
  }

  private static boolean isStopped(scala.Option session) { return ((SESSION) session.get()).sparkContext().isStopped(); }

  private static SessionSettings wanted;

  public static void install() {
    wanted = new SessionSettings();
    keep();
  }

  public static void keep() {
    if (wanted != null) SQLConf$.MODULE$.setSQLConfGetter(wanted);
  }
}
