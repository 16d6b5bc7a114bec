// SPDX-License-Identifier: Apache-2.0
package bayou;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Arrays;
import java.util.function.BiFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

// The command for a statement that Python runs. Execution asks Python; planning runs nothing. Python's answer is a DataFrame with the rows,
// JSON with the counts of changed rows, or null. If the optimizer's rule inserts it into a plan, it has no columns: Spark already knows the
// columns of the result.
public class Statement extends ExternalCommandExecutor {
  // Spark copies nodes with the constructor for their parameters, so these are the parameters of the superclass.
  public Statement(ExternalCommandRunner runner, String name, Map options) { super(runner, name, options); }

  // `name` is the node's, `node` is the argument for Python.
  public static Statement of(BiFunction body, Object node, String name, String text, SEQ columns) {
    return new Statement(new Runner(body, node, name, text, columns), text, new scala.collection.immutable.HashMap());
  }

  public SEQ output() { return ((Runner) runner()).columns; }

  public SEQ run(org.apache.spark.sql.SparkSession session) {
    Runner runner = (Runner) runner();
    Object found = Python.ask(runner.body, runner.node, session);
    Row[] rows = new Row[0];
    if (found instanceof String) {
      runner.counts = (String) found;
      if (!runner.columns.isEmpty() && !runner.counts.isEmpty()) rows = new Row[] {row(runner)};
    } else if (found != null) rows = rows((Dataset) found);
    return org.apache.spark.api.python.PythonUtils.toSeq(Arrays.asList(rows));
  }

  // The rows of a DataFrame. Rows that Python created are read from its plan, because planning a query takes longer.
  private static Row[] rows(Dataset found) {
    Object plan = found.queryExecution().analyzed();
    if (!(plan instanceof LocalRelation)) return (Row[]) found.collect();
    scala.Function1 converter = CatalystTypeConverters.createToScalaConverter(found.schema());
    Row[] rows = new Row[((LocalRelation) plan).data().size()];
    int count = 0;
    for (Iterator each = ((LocalRelation) plan).data().iterator(); each.hasNext();) rows[count++] = (Row) converter.apply(each.next());
    return rows;
  }

  private static Row row(Runner runner) {
    JsonNode counts;
    try {
      counts = new ObjectMapper().readTree(runner.counts);
    } catch (java.io.IOException failed) {
      throw new IllegalStateException(failed);
    }
    Object[] values = new Object[runner.columns.size()];
    for (int i = 0; i < values.length; i++) values[i] = counts.get(((Attribute) runner.columns.apply(i)).name()).longValue();
    return RowFactory.create(values);
  }

  // The counts from Python; null until the command is executed.
  public String counts() { return ((Runner) runner()).counts; }

  public String nodeName() { return ((Runner) runner()).name; }

  public String simpleString(int maxFields) { return command(); }

  public static class Runner implements ExternalCommandRunner {
    final BiFunction body;
    final Object node;
    final String name;
    final String text;
    final SEQ columns;
    volatile String counts;

    Runner(BiFunction body, Object node, String name, String text, SEQ columns) {
      this.body = body;
      this.node = node;
      this.name = name;
      this.text = text;
      this.columns = columns;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap options) { throw new UnsupportedOperationException(text); }

    public String toString() { return text; }
  }
}
