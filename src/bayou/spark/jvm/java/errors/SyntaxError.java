// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.HashMap;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonToken;
import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.misc.Pair;
import org.apache.spark.sql.catalyst.parser.ParseException;

// The error of a wrong statement, for code that catches Spark's: programs in other languages, and the parsers of other extensions.
// `key` identifies the Python exception. Spark has no messages for delta-spark's error classes, so this class has its own.
public class SyntaxError extends ParseException {
  private final String text;
  private final String key;
  private final String condition;
  private final String state;

  // `line` counts from 1, `position` from 0.
  public SyntaxError(String text, String key, String condition, String state, String statement, int line, int position) {
    super("PARSE_SYNTAX_ERROR", parameters(text), place(statement, line, position));
    this.text = text;
    this.key = key;
    this.condition = condition;
    this.state = state;
  }

  private static scala.collection.immutable.Map parameters(String text) {
    HashMap found = new HashMap();
    found.put("error", text);
    found.put("hint", "");
    return org.apache.spark.api.python.PythonUtils.toScalaMap(found);
  }

  private static ParserRuleContext place(String statement, int line, int position) {
    CommonToken token = new CommonToken(new Pair(null, CharStreams.fromString(statement)), Token.DEFAULT_CHANNEL, Token.DEFAULT_CHANNEL, 0, 0);
    token.setLine(line);
    token.setCharPositionInLine(position);
    ParserRuleContext found = new ParserRuleContext();
    found.start = token;
    found.stop = token;
    return found;
  }

  public String key() { return key; }

  public String getMessage() { return text; }

  public ParseException withCommand(String command) { return this; }

  public String getCondition() { return condition; }

  public String getErrorClass() { return condition; }  // its name before Spark 4.0

  public String getSqlState() { return state; }
}
