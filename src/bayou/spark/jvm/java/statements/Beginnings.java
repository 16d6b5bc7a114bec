// SPDX-License-Identifier: Apache-2.0
package bayou;

// Whether a statement that Spark's parser refused may be one of Delta Lake, by its first words, without blanks and comments. The words are
// in beginnings.py. The statement is not parsed: Python is asked only if it may be one.
public final class Beginnings {
  private static final int MOST = 5;
  private static final String[] MODES = {"LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST"};
  private static String[][] words = {};
  private static String[] mentions = {};  // the word that must follow the words of the same index, or null

  private final String text;
  private int at;

  private Beginnings(String text) { this.text = text; }

  // Lines of words in capitals, separated by one blank; " ... WORD" at the end of a line is a word that must follow somewhere.
  public static void set(String lines) {
    String[] all = lines.split("\n");
    String[][] found = new String[all.length][];
    String[] behind = new String[all.length];
    for (int i = 0; i < all.length; i++) {
      int dots = all[i].indexOf(" ... ");
      found[i] = (dots < 0 ? all[i] : all[i].substring(0, dots)).split(" ");
      if (dots >= 0) behind[i] = all[i].substring(dots + 5);
    }
    words = found;
    mentions = behind;
  }

  public static boolean mayBegin(String text) {
    Beginnings reader = new Beginnings(text);
    reader.skip();
    int start = reader.at;
    String first = reader.word();
    if (first == null) return false;
    if (first.equalsIgnoreCase("EXPLAIN")) {
      reader.skip();
      start = reader.at;
      first = reader.word();
      for (int i = 0; i < MODES.length && first != null; i++) {
        if (!first.equalsIgnoreCase(MODES[i])) continue;
        reader.skip();
        start = reader.at;
        first = reader.word();
        break;
      }
    }
    if (first == null) return false;
    if (first.equalsIgnoreCase("WITH")) return reader.goTo("INSERT") && reader.begins();
    reader.at = start;
    return reader.begins() || reader.isLabelled(start) && reader.begins();
  }

  // Whether DESCRIBE or DESC, followed by HISTORY or DETAIL, occurs anywhere, because a query may contain a description in parentheses. It
  // reads the whole statement.
  public static boolean describes(String text) {
    Beginnings reader = new Beginnings(text);
    while (reader.goTo(null)) {
      String word = reader.word();
      if (!word.equalsIgnoreCase("DESCRIBE") && !word.equalsIgnoreCase("DESC")) continue;
      reader.skip();
      int start = reader.at;
      String next = reader.word();
      if (next != null && (next.equalsIgnoreCase("HISTORY") || next.equalsIgnoreCase("DETAIL"))) return true;
      reader.at = start;
    }
    return false;
  }

  // Reads a label, which may precede a script. Returns whether there was one.
  private boolean isLabelled(int start) {
    at = start;
    word();
    skip();
    if (at == text.length() || text.charAt(at) != ':') return false;
    at++;
    skip();
    return text.regionMatches(true, at, "BEGIN", 0, 5);
  }

  private boolean begins() {
    String[] found = new String[MOST];
    int count = 0, start = at;
    while (count < MOST && (found[count] = word()) != null) {
      count++;
      skip();
    }
    for (int i = 0; i < words.length; i++) if (isAt(words[i], found, count) && (mentions[i] == null || isBehind(mentions[i], start))) return true;
    return false;
  }

  private static boolean isAt(String[] wanted, String[] found, int count) {
    if (wanted.length > count) return false;
    for (int i = 0; i < wanted.length; i++) if (!wanted[i].equalsIgnoreCase(found[i])) return false;
    return true;
  }

  // Also as a part of a longer word: Python checks more closely.
  private boolean isBehind(String word, int start) {
    for (int i = start; i + word.length() <= text.length(); i++) if (text.regionMatches(true, i, word, 0, word.length())) return true;
    return false;
  }

  // The word that begins here, or an empty string.
  private String word() {
    int start = at;
    while (at < text.length() && isOfWord(text.charAt(at))) at++;
    return at == start ? null : text.substring(start, at);
  }

  private static boolean isOfWord(char each) {
    return each >= 'a' && each <= 'z' || each >= 'A' && each <= 'Z' || each >= '0' && each <= '9' || each == '_';
  }

  // Moves to the next word, or to a given word, outside quotes and comments; false if it does not occur.
  private boolean goTo(String wanted) {
    for (skip(); at < text.length(); skip()) {
      char each = text.charAt(at);
      if (each == '\'' || each == '"' || each == '`') skipQuoted(each);
      else if (!isOfWord(each)) at++;
      else {
        int start = at;
        String found = word();
        if (wanted == null || wanted.equalsIgnoreCase(found)) {
          at = start;
          return true;
        }
      }
    }
    return false;
  }

  private void skipQuoted(char quote) {
    for (at++; at < text.length(); at++) {
      if (text.charAt(at) == '\\' && quote != '`') at++;
      else if (text.charAt(at) == quote) break;
    }
    at = Math.min(at + 1, text.length());
  }

  // Skips blanks and comments. A comment in brackets may contain others.
  private void skip() {
    while (at < text.length()) {
      if (Character.isWhitespace(text.charAt(at))) at++;
      else if (text.startsWith("--", at)) {
        while (at < text.length() && text.charAt(at) != '\n') at += text.startsWith("\\\n", at) ? 2 : 1;
      } else if (text.startsWith("/*", at)) {
        int depth = 0;
        do {
          boolean opens = text.startsWith("/*", at), closes = text.startsWith("*/", at);
          depth += opens ? 1 : closes ? -1 : 0;
          at += opens || closes ? 2 : 1;
        } while (depth > 0 && at < text.length());
      } else return;
    }
  }
}
