// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.VariableSubstitution;

// The SQL from which a node was parsed, and its context: the rest of the statement, and in a script other statements.
public final class StatementText {
  // Statements whose variables Spark replaced, by identity: the same string may be parsed under several settings.
  private static final Map replaced = Collections.synchronizedMap(new HashMap());
  private static final ReferenceQueue gone = new ReferenceQueue();

  private static final Pattern INSERT = Pattern.compile("(?i)\\binsert\\b");

  private StatementText() {}

  static boolean isInsert(Origin origin) { return origin.sqlText().isDefined() && INSERT.matcher((String) origin.sqlText().get()).find(); }

  // Empty if the node is not from SQL.
  public static String of(Origin origin) {
    String text = whole(origin);
    return text.substring(start(origin, text), end(origin, text));
  }

  // Without comments, like `behind`.
  public static String before(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(0, start(origin, text))) + " ";  // a name in quotes needs no blank before it
  }

  public static String behind(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(end(origin, text)));
  }

  // Notes each statement before it is parsed: its variables may have other values when its tables are resolved.
  static void note(String text) {
    for (Reference old = gone.poll(); old != null; old = gone.poll()) replaced.remove(old);
    if (text.indexOf("${") >= 0) replaced.put(new Key(text, gone), new String(new VariableSubstitution().substitute(text)));  // a copy, so that the map does not hold the key
  }

  // Spark counts positions in the statement with replaced variables, and stores the one without. Only the context has the positions in the
  // statement whose parameters are not replaced.
  private static String whole(Origin origin) {
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty()) return "";
    String text = (String) origin.sqlText().get();
    if (text.indexOf("${") < 0) return text;
    String noted = (String) replaced.get(new Key(text, null));
    return noted == null ? new VariableSubstitution().substitute(text) : noted;
  }

  private static int start(Origin origin, String text) { return text.isEmpty() ? 0 : place(text, ((QueryContext) origin.context()).startIndex()); }

  private static int end(Origin origin, String text) {
    return text.isEmpty() ? 0 : Math.max(start(origin, text), place(text, ((QueryContext) origin.context()).stopIndex() + 1));
  }

  // Spark counts characters, Java counts UTF-16 units.
  private static int place(String text, int characters) {
    return text.offsetByCodePoints(0, Math.max(0, Math.min(characters, text.codePointCount(0, text.length()))));
  }

  // Removes comments with Spark's own lexer. The string ends at the end of a word, so its words are the same as in the whole statement.
  private static String plain(String text) {
    if (text.indexOf("--") < 0 && text.indexOf("/*") < 0) return text;
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners();  // they print to the console
    StringBuilder words = new StringBuilder();
    for (Token each = lexer.nextToken(); each.getType() != Token.EOF; each = lexer.nextToken())
      if (each.getChannel() == Token.DEFAULT_CHANNEL) words.append(each.getText()).append(' ');
    return words.toString();
  }

  private static final class Key extends WeakReference {
    private final int hash;

    Key(String text, ReferenceQueue queue) {
      super(text, queue);
      hash = System.identityHashCode(text);
    }

    public int hashCode() { return hash; }

    public boolean equals(Object other) { return other == this || other instanceof Key && get() != null && get() == ((Key) other).get(); }
  }
}
