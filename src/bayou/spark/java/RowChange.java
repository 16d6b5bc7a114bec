// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.UndeclaredThrowableException;
import java.util.function.BiFunction;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import scala.collection.immutable.Map;

// What the optimiser rule puts in the place of a statement that changes rows: executing it asks Python, planning it runs nothing.
// Spark has settled the columns of a statement's result before the rule sees it, and there are none.
public class RowChange extends ExternalCommandExecutor {
  private static final SEQ NOTHING = org.apache.spark.api.python.PythonUtils.toSeq(new java.util.ArrayList());

  // Spark copies nodes by the constructor with their parameters, so these are those of the class that this one extends.
  public RowChange(ExternalCommandRunner runner, String name, Map options) { super(runner, name, options); }

  public static RowChange of(BiFunction body, Object statement, String text) {
    return new RowChange(new Runner(body, statement, text), text, new scala.collection.immutable.HashMap());
  }

  public SEQ output() { return NOTHING; }

  public SEQ run(org.apache.spark.sql.SparkSession session) {
    Runner runner = (Runner) runner();
    try {
      runner.counts = (String) runner.body.apply(runner.statement, session);
    } catch (UndeclaredThrowableException wrapped) {  // what a job failed with, which `apply` does not declare
      Platform.throwException(wrapped.getUndeclaredThrowable());
    }
    return NOTHING;
  }

  // What the body gave; null until the command is executed.
  public String counts() { return ((Runner) runner()).counts; }

  public String nodeName() { return "RowChange"; }

  public String simpleString(int maxFields) { return command(); }

  public static class Runner implements ExternalCommandRunner {
    final BiFunction body;
    final Object statement;
    final String text;
    volatile String counts;

    Runner(BiFunction body, Object statement, String text) {
      this.body = body;
      this.statement = statement;
      this.text = text;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap options) { throw new UnsupportedOperationException(text); }

    public String toString() { return text; }
  }
}
