// SPDX-License-Identifier: Apache-2.0
package bayou;

import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;

// The words of a statement from Spark's lexer, without blanks and comments.
public class Words {
  // A comment that is not closed hides the rest of the statement, which Spark refuses, so it has no words here.
  // For each word its kind, its start and its end, counted in code points, each ended by NUL.
  public static String of(String text) {
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners();  // they print to the console
    StringBuilder words = new StringBuilder();
    for (Token word = lexer.nextToken(); word.getType() != Token.EOF; word = lexer.nextToken()) {
      if (word.getChannel() != Token.DEFAULT_CHANNEL) continue;
      String kind = lexer.getVocabulary().getSymbolicName(word.getType());
      words.append(kind == null ? "" : kind).append('\0').append(word.getStartIndex()).append('\0').append(word.getStopIndex() + 1).append('\0');
    }
    return lexer.has_unclosed_bracketed_comment ? "" : words.toString();
  }
}
