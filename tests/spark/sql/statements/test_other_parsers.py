# SPDX-License-Identifier: Apache-2.0
"""The parser of another extension on the same session keeps its statements, and bayou its own, whichever was there first."""

from __future__ import annotations

import pytest
from pyspark.errors import ParseException
from tests.support.java import new_object

from bayou.spark.jvm.core.bridge import Jvm

OTHER = """
import java.lang.reflect.*;
import org.apache.spark.sql.catalyst.parser.*;

// Knows `CALL x`. Some extensions look at a text before the parser behind them does (Iceberg), others at what it refused (Sedona).
public class OtherParser implements InvocationHandler {
  private final ParserInterface behind;
  private final boolean first;

  public OtherParser(ParserInterface behind, Boolean first) {
    this.behind = behind;
    this.first = first.booleanValue();
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    boolean isOurs = method.getName().startsWith("parsePlan") && ((String) arguments[0]).startsWith("CALL x");
    if (isOurs && first) return behind.parsePlan("SELECT 42 AS called");
    try {
      return method.invoke(behind, arguments);
    } catch (InvocationTargetException failed) {
      if (isOurs && failed.getCause() instanceof ParseException) return behind.parsePlan("SELECT 42 AS called");
      throw failed.getCause();
    }
  }

  // Puts it where an extension's parser is: on the session.
  public void put(org.apache.spark.sql.internal.SessionState state) throws Exception {
    Object made = Proxy.newProxyInstance(behind.getClass().getClassLoader(), new Class[] {ParserInterface.class}, this);
    Field field = org.apache.spark.sql.internal.SessionState.class.getDeclaredField("sqlParser");
    field.setAccessible(true);
    field.set(state, made);
  }
}
"""


@pytest.fixture(params=["before bayou", "after bayou"])
def place(request):
    """When the other extension came."""
    return request.param


@pytest.fixture(params=[True, False], ids=["looks first", "looks at what was refused"])
def session(request, spark, place):
    """A session with both parsers."""
    found = spark.newSession()
    java, parsers = found._jsparkSession, Jvm.of(spark).static("bayou.Parser")
    there = java.sessionState().sqlParser()
    other = new_object(spark, "OtherParser", OTHER, parsers.behind(there) if place == "before bayou" else there, request.param)
    other.put(java.sessionState())
    if place == "before bayou":
        parsers.install(java)
    return found


@pytest.mark.smoke
def test_each_has_its_own_statements(session, name, table_path):
    assert session.sql("CALL x").first().called == 42
    session.range(3).write.format("delta").save(table_path)
    assert session.sql(f"OPTIMIZE delta.`{table_path}`").columns == ["path", "metrics"]
    assert session.sql(f"DESCRIBE HISTORY delta.`{table_path}` LIMIT 1").count() == 1
    session.sql(f"UPDATE delta.`{table_path}` SET id = 9 WHERE id = 0")
    assert session.sql(f"SELECT max(id) FROM delta.`{table_path}`").first()[0] == 9
    with pytest.raises(ParseException, match="Did you mean RETAIN"):
        session.sql(f"VACUUM delta.`{table_path}` RETIAN 5 HOURS")
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        session.sql("SELEC 1")
