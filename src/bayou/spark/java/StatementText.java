// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.regex.Pattern;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.VariableSubstitution;

// The text that a node was parsed from, and what stands around it: the rest of its statement, in a script other statements, too.
public final class StatementText {
  // What is quoted, or a comment. Repeated without a way back, which would take a stack frame for each character.
  private static final Pattern COMMENT = Pattern.compile("(\\b[rR](?:'[^']*+'|\"[^\"]*+\")|'(?:[^'\\\\]|\\\\.)*+'|\"(?:[^\"\\\\]|\\\\.)*+\"|`[^`]*+`)|--[^\\n]*+|/\\*.*?\\*/", Pattern.DOTALL);

  private StatementText() {}

  // "" where the node is not from a text.
  public static String of(Origin origin) {
    String text = whole(origin);
    return text.substring(start(origin, text), end(origin, text));
  }

  // Without comments, as is what stands behind.
  public static String before(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(0, start(origin, text)));
  }

  public static String behind(Origin origin) {
    String text = whole(origin);
    return plain(text.substring(end(origin, text)));
  }

  // Spark counts in the text whose variables are replaced, and keeps the one in which they are not. Only the context has the
  // places in the text whose parameters are not.
  private static String whole(Origin origin) {
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty()) return "";
    String text = (String) origin.sqlText().get();
    return text.indexOf("${") >= 0 ? new VariableSubstitution().substitute(text) : text;
  }

  private static int start(Origin origin, String text) { return text.isEmpty() ? 0 : place(text, ((QueryContext) origin.context()).startIndex()); }

  private static int end(Origin origin, String text) {
    return text.isEmpty() ? 0 : Math.max(start(origin, text), place(text, ((QueryContext) origin.context()).stopIndex() + 1));
  }

  // Spark counts characters, Java the halves of some.
  private static int place(String text, int characters) {
    return text.offsetByCodePoints(0, Math.max(0, Math.min(characters, text.codePointCount(0, text.length()))));
  }

  private static String plain(String text) { return COMMENT.matcher(text).replaceAll("$1 "); }
}
