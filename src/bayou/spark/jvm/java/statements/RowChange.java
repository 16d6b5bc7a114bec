// SPDX-License-Identifier: Apache-2.0
package bayou;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collections;
import java.util.function.BiFunction;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map;

// What stands for a statement that changes rows: executing it asks Python, planning it runs nothing. One that the parser was asked
// for gives a row of counts. Where the optimizer rule puts it, Spark has settled the columns of the result before, and there are none.
public class RowChange extends ExternalCommandExecutor {
  private static final SEQ NOTHING = org.apache.spark.api.python.PythonUtils.toSeq(new java.util.ArrayList());

  // Spark copies nodes by the constructor with their parameters, so these are those of the class that this one extends.
  public RowChange(ExternalCommandRunner runner, String name, Map options) { super(runner, name, options); }

  public static RowChange of(BiFunction body, Object statement, String text, SEQ counted) {
    return new RowChange(new Runner(body, statement, text, counted), text, new scala.collection.immutable.HashMap());
  }

  public SEQ output() { return ((Runner) runner()).counted; }

  public SEQ run(org.apache.spark.sql.SparkSession session) {
    Runner runner = (Runner) runner();
    runner.counts = (String) Python.ask(runner.body, runner.statement, session);
    return runner.counted.isEmpty() || runner.counts.isEmpty() ? NOTHING : row(runner);
  }

  private static SEQ row(Runner runner) {
    JsonNode counts;
    try {
      counts = new ObjectMapper().readTree(runner.counts);
    } catch (java.io.IOException failed) {
      throw new IllegalStateException(failed);
    }
    Object[] values = new Object[runner.counted.size()];
    for (int i = 0; i < values.length; i++) values[i] = counts.get(((Attribute) runner.counted.apply(i)).name()).longValue();
    return org.apache.spark.api.python.PythonUtils.toSeq(Collections.singletonList(RowFactory.create(values)));
  }

  // What the body gave; null until the command is executed.
  public String counts() { return ((Runner) runner()).counts; }

  public String nodeName() { return "RowChange"; }

  public String simpleString(int maxFields) { return command(); }

  public static class Runner implements ExternalCommandRunner {
    final BiFunction body;
    final Object statement;
    final String text;
    final SEQ counted;
    volatile String counts;

    Runner(BiFunction body, Object statement, String text, SEQ counted) {
      this.body = body;
      this.statement = statement;
      this.text = text;
      this.counted = counted;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap options) { throw new UnsupportedOperationException(text); }

    public String toString() { return text; }
  }
}
