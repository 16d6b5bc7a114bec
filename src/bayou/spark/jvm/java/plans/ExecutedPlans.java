// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.internal.SessionState;

// The function with which a session turns plans into queries. A MERGE of DataFrame.mergeInto has no SQL and bypasses the parser, so
// Python replaces it here, before Spark resolves it.
public class ExecutedPlans extends scala.runtime.AbstractFunction2 {
  private final SESSION session;
  private final scala.Function2 there;

  private ExecutedPlans(SESSION session, scala.Function2 there) {
    this.session = session;
    this.there = there;
  }

  public Object apply(Object plan, Object mode) {
    boolean isOurs = plan instanceof MergeIntoTable && ((MergeIntoTable) plan).origin().sqlText().isEmpty() && !mode.toString().equals("SKIP");
    Object found = isOurs ? asked(plan) : null;
    return there.apply(found == null ? plan : found, mode);
  }

  // Names are resolved in this session, whichever one is active on the thread.
  private Object asked(Object plan) {
    scala.Option active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    try {
      return Parser.asked(plan);
    } finally {
      if (active.isDefined()) SparkSession.setActiveSession((SparkSession) active.get());
      else SparkSession.clearActiveSession();
    }
  }

  // Installs it on a session that has bayou's parser, and on those created from it.
  public static void install(SESSION session) throws ReflectiveOperationException {
    put(session);
    if (!NewSessions.more.contains(ON_NEW)) NewSessions.more.add(ON_NEW);
  }

  private static void put(SESSION session) throws ReflectiveOperationException {
    if (!Parser.isOn(session.sessionState().sqlParser())) return;
    Field field = SessionState.class.getDeclaredField("createQueryExecution");
    field.setAccessible(true);
    Object there = field.get(session.sessionState());
    if (!(there instanceof ExecutedPlans)) field.set(session.sessionState(), new ExecutedPlans(session, (scala.Function2) there));
  }

  private static final Plans.Change ON_NEW = new Plans.Change() {
    public Object apply(Object session) {
      try {
        put((SESSION) session);
      } catch (ReflectiveOperationException other) {
        return session;  // a Spark version that stores it elsewhere: then Spark resolves the MERGE of a DataFrame
      }
      return session;
    }
  };
}
