// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

// Parses SQL that a table stores or that bayou creates as it was written. Settings of a session change the meaning of strings, names and
// types, and its parser replaces `${...}` by the values of settings. How an expression computes stays the session's.
public class OwnSql {
  // Names of settings that have Spark's defaults for the parser, each ended by NUL.
  private final SQLConf known;

  public OwnSql(SESSION session, String defaults) {
    known = session.sessionState().conf().clone();
    String[] names = defaults.split("\0", -1);
    for (int i = 0; i + 1 < names.length; i++) {
      if (known.contains(names[i])) known.unsetConf(names[i]);  // Spark 4.3 logs a warning for a deprecated name, even if it is not set
    }
  }

  public Expression parsed(final String text) {
    return (Expression) SQLConf$.MODULE$.withExistingConf(known, new scala.runtime.AbstractFunction0() {
      public Object apply() { return CatalystSqlParser$.MODULE$.parseExpression(text); }
    });
  }

  public static Expression parsed(SESSION session, String defaults, String text) { return new OwnSql(session, defaults).parsed(text); }

  // `texts` are expressions, each ended by NUL.
  public static ArrayList all(SESSION session, String defaults, String texts) {
    OwnSql parser = new OwnSql(session, defaults);
    String[] parts = texts.split("\0", -1);
    ArrayList found = new ArrayList();
    for (int i = 0; i + 1 < parts.length; i++) found.add(parser.parsed(parts[i]));
    return found;
  }
}
