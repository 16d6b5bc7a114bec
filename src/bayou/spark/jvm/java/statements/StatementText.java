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

// The text that a node was parsed from, and what stands around it: the rest of its statement, in a script other statements, too.
public final class StatementText {
  // Texts whose variables Spark replaced, by themselves: one and the same text may be parsed under several settings.
  private static final Map replaced = Collections.synchronizedMap(new HashMap());
  private static final ReferenceQueue gone = new ReferenceQueue();

  private static final Pattern INSERT = Pattern.compile("(?i)\\binsert\\b");

  private StatementText() {}

  static boolean isInsert(Origin origin) { return origin.sqlText().isDefined() && INSERT.matcher((String) origin.sqlText().get()).find(); }

  // "" where the node is not from a text.
  public static String of(Origin origin) {
    String text = whole(origin);
    return text.substring(start(origin, text), end(origin, text));
  }

  // Without comments, as is what stands behind.
  public static String before(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(0, start(origin, text))) + " ";  // a name in quotes needs no blank before it
  }

  public static String behind(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(end(origin, text)));
  }

  // Called with each text that is to be parsed: when its tables are looked for, its variables may have other values.
  static void note(String text) {
    for (Reference old = gone.poll(); old != null; old = gone.poll()) replaced.remove(old);
    if (text.indexOf("${") >= 0) replaced.put(new Key(text, gone), new String(new VariableSubstitution().substitute(text)));  // not the key itself
  }

  // Spark counts in the text whose variables are replaced, and keeps the one in which they are not. Only the context has the
  // places in the text whose parameters are not.
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

  // Spark counts characters, Java the halves of some.
  private static int place(String text, int characters) {
    return text.offsetByCodePoints(0, Math.max(0, Math.min(characters, text.codePointCount(0, text.length()))));
  }

  // By Spark's own lexer. The text ends where a word does, so its words are those that it has in the whole.
  private static String plain(String text) {
    if (text.indexOf("--") < 0 && text.indexOf("/*") < 0) return text;
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners();  // they write to the console
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
