// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Arrays;
import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map;

// A statement of Delta's own. Executing it asks Python, which gives its rows as a DataFrame, or null where there are none.
public class Statement extends ExternalCommandExecutor {
  // Spark copies nodes by the constructor with their parameters, so these are those of the class that this one extends.
  public Statement(ExternalCommandRunner runner, String name, Map options) { super(runner, name, options); }

  public static Statement of(BiFunction body, String text, SEQ columns) {
    return new Statement(new Runner(body, text, columns), text, new scala.collection.immutable.HashMap());
  }

  public SEQ output() { return ((Runner) runner()).columns; }

  public SEQ run(org.apache.spark.sql.SparkSession session) {
    Object found = Python.ask(((Runner) runner()).body, null, session);
    Row[] rows = found == null ? new Row[0] : (Row[]) ((Dataset) found).collect();
    return org.apache.spark.api.python.PythonUtils.toSeq(Arrays.asList(rows));
  }

  public String nodeName() { return "DeltaStatement"; }

  public String simpleString(int maxFields) { return command(); }

  public static class Runner implements ExternalCommandRunner {
    final BiFunction body;
    final String text;
    final SEQ columns;

    Runner(BiFunction body, String text, SEQ columns) {
      this.body = body;
      this.text = text;
      this.columns = columns;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap options) { throw new UnsupportedOperationException(text); }

    public String toString() { return text; }
  }
}
