// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import java.util.Locale;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

// The session's own parser, and behind it Python, which is asked for a statement that the session's parser refuses.
public class Parser extends SparkSqlParser {
  public static BiFunction body;
  private final ParserInterface session;

  public Parser(ParserInterface session) { this.session = session; }

  public LogicalPlan parsePlan(String text) throws ParseException {
    try {
      return session.parsePlan(text);
    } catch (ParseException unknown) {
      Object found = text.toLowerCase(Locale.ROOT).contains("constraint") ? asked(text, unknown) : null;
      if (found == null) throw unknown;
      return (LogicalPlan) found;
    }
  }

  private static Object asked(String text, ParseException unknown) {
    try {
      return body.apply(text, null);
    } catch (RuntimeException failed) {
      unknown.addSuppressed(failed);
      return null;
    }
  }

  public LogicalPlan parseQuery(String text) throws ParseException { return session.parseQuery(text); }

  public Expression parseExpression(String text) throws ParseException { return session.parseExpression(text); }

  public TableIdentifier parseTableIdentifier(String text) throws ParseException { return session.parseTableIdentifier(text); }

  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException { return session.parseFunctionIdentifier(text); }

  public SEQ parseMultipartIdentifier(String text) throws ParseException { return session.parseMultipartIdentifier(text); }

  public StructType parseTableSchema(String text) throws ParseException { return session.parseTableSchema(text); }

  public DataType parseDataType(String text) throws ParseException { return session.parseDataType(text); }

  // A session that runs keeps its parser for good; those that will be made of it ask their extensions for one.
  public static void install(SESSION session) throws Exception {
    ParserInterface there = session.sessionState().sqlParser();
    if (there instanceof Parser) return;
    Field field = org.apache.spark.sql.internal.SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    field.set(session.sessionState(), new Parser(there));
    SparkSessionExtensions extensions = (SparkSessionExtensions) session.getClass().getMethod("extensions", new Class[0]).invoke(session, new Object[0]);  // not public in Scala
    extensions.injectParser(new Made());
  }

  public static class Made extends scala.runtime.AbstractFunction2 {
    public Object apply(Object session, Object parser) { return parser instanceof Parser ? parser : new Parser((ParserInterface) parser); }
  }
}
