// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.connector.catalog.CatalogV2Util$;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

// The session catalog. Python creates, replaces and writes tables of the provider `delta`. Everything else goes to the parent: Spark's
// catalog, or the one that the session has instead. To a caller that checks its class or its interfaces it is the parent.
public class Catalog extends PARENT implements StagingTableCatalog {
  private static final Class PARENTS = Catalog.class.getSuperclass();

  // The statement before the name of a table, or after it.
  private static final Pattern ALTER = Pattern.compile("(?i)\\b(?:alter|truncate)\\s+table\\s+$");
  private static final Pattern TRUNCATE = Pattern.compile("(?i)\\btruncate\\s+table\\s+$");
  private static final Pattern PARTITION = Pattern.compile("(?i)\\s*partition\\s*\\(");
  private static final Pattern INSERT = Pattern.compile("(?i)insert\\s");
  private static final Pattern MERGE = Pattern.compile("(?i)\\bmerge\\s+(?:with\\s+schema\\s+evolution\\s+)?into\\s+$");
  private static final Pattern DESCRIBE = Pattern.compile("(?i)\\bdesc(?:ribe)?\\s+(?:table\\s+)?(?:(?:extended|formatted)\\s+)?$");
  private static final Pattern TRAVELS = Pattern.compile("(?s)(.+)(@(?:[vV]\\d{1,18}|\\d{17}))");
  private static final Pattern AS_JSON = Pattern.compile("(?is)[^;]*\\bas\\s+json\\b");

  // Whether this Spark passes the purpose for which it loads a table; up to 3.5.2 it does not. If it does, a table that a writer loads
  // without one is read: Spark resolves the tables of the query again with the command. If it does not, these get bayou's table, which
  // can be read, too.
  private static final boolean STATES_PURPOSE = statesPurpose();

  private static boolean statesPurpose() {
    try {
      TableCatalog.class.getMethod("loadTable", new Class[] {Identifier.class, Set.class});
      return true;
    } catch (NoSuchMethodException older) {
      return false;
    }
  }

  // Reads use Spark's way over an entry and the data source. Written rows, ALTER TABLE and TRUNCATE TABLE get bayou's table.
  public Table loadTable(Identifier name) throws Exception {
    Table found = load(name, isAlter(CurrentOrigin.get()) || !STATES_PURPOSE && (isWriter() || isInsertInto(CurrentOrigin.get())));
    // If saveAsTable replaces a table by one of another source, Spark looks at the old one, drops it, and only then reads the rows.
    if (isOurs(found) && Callers.include("DataFrameWriter", "saveAsTable") && Callers.include("SparkSession", "table")) ask("replaced", name);
    return found instanceof NamedTable && isDescribe(CurrentOrigin.get()) ? new DescribedTable((NamedTable) found) : found;
  }

  private static boolean isOurs(Table found) { return found instanceof NamedTable || found instanceof WritableTable; }

  // A MERGE that only inserts asks for the privileges of an INSERT, but reads as well.
  public Table loadTable(Identifier name, Set privileges) throws Exception {
    String asked = privileges.toString();
    Table found = load(name, asked.indexOf("INSERT") >= 0 && asked.indexOf("UPDATE") < 0 && !isMerge(CurrentOrigin.get()) && !isMerger());
    Class[] types = {Identifier.class, Set.class};
    return isOurs(found) || !parentHas("loadTable", types) ? found : (Table) parents("loadTable", Table.class, types, new Object[] {name, privileges});
  }

  public Table loadTable(Identifier name, String version) throws Exception { return travelled(name, "version", version); }

  // The timestamp is in microseconds.
  public Table loadTable(Identifier name, long timestamp) throws Exception { return travelled(name, "timestamp", String.valueOf(timestamp)); }

  // The clause CHANGES, from Spark 4.2 on. Python raises an error that names the alternative.
  public CHANGELOG loadChangelog(Identifier name, CHANGESASKED asked, CaseInsensitiveStringMap options) throws Exception {
    if (isPath(name) || load(name, false) instanceof NamedTable) ask("changelog", name);
    return (CHANGELOG) parents("loadChangelog", CHANGELOG.class, new Class[] {Identifier.class, CHANGESASKED.class, CaseInsensitiveStringMap.class}, new Object[] {name, asked, options});
  }

  // `table@v1` and `table@20260102030405678`, if no table has that name.
  private Table suffixed(Identifier name, Exception absent) throws Exception {
    Matcher found = TRAVELS.matcher(name.name());
    if (!(absent instanceof NoSuchTableException) || !found.matches()) throw absent;
    Identifier whole = (Identifier) Identifier.class.getMethod("of", new Class[] {String[].class, String.class}).invoke(null, new Object[] {name.namespace(), found.group(1)});  // Janino cannot call static methods of an interface
    if (!tableExists(whole) || !(load(whole, false) instanceof NamedTable)) throw absent;
    return new NamedTable((CatalogTable) WritableTable.ask("travel\0" + text(whole) + "\0suffix\0" + found.group(2) + "\0", null), text(whole));
  }

  private Table travelled(Identifier name, String what, String when) throws Exception {
    if (isPath(name) || load(name, false) instanceof NamedTable)
      return new NamedTable((CatalogTable) WritableTable.ask("travel\0" + text(name) + "\0" + what + "\0" + when + "\0", null), text(name));
    boolean isVersion = what.equals("version");
    Class[] types = {Identifier.class, isVersion ? String.class : Long.TYPE};
    return (Table) parents("loadTable", Table.class, types, new Object[] {name, isVersion ? (Object) when : Long.valueOf(when)});
  }

  private Table load(Identifier name, boolean writes) throws Exception {
    if (writes && isPath(name) && tableExists(name)) return written(name);
    if (!writes && isPath(name) && isQuestion() && !tableExists(name)) throw new NoSuchTableException(name);
    if (!writes && isPath(name)) return new NamedTable(forgotten((CatalogTable) ask("entry", name)), text(name));
    Table found;
    try {
      found = (Table) parents("loadTable", Table.class, new Class[] {Identifier.class}, new Object[] {name});
    } catch (Exception absent) {
      if (writes || isQuestion()) throw absent;
      return suffixed(name, absent);
    }
    if (!(found instanceof V1Table) || !isDelta(((V1Table) found).v1Table())) return found;
    if (writes) return written(name);
    invalidateTable(name);  // Spark's cached entry has the columns of an earlier version
    return new NamedTable(((V1Table) found).v1Table(), text(name));
  }

  // The entry for a path, dropped from Spark's cache. Spark caches it under the path as it is, but drops only names in lower case.
  private static CatalogTable forgotten(CatalogTable entry) throws Exception {
    Object catalog = ((SESSION) org.apache.spark.sql.SparkSession.active()).sessionState().catalog();
    Signatures.callWithName(catalog, "invalidateCachedTable", new String[] {(String) entry.identifier().catalog().get(), entry.database(), entry.identifier().table()});
    return entry;
  }

  private static Table written(Identifier name) { return new StatedTable(text(name), isWriter()); }

  public boolean tableExists(Identifier name) { return isPath(name) ? Boolean.TRUE.equals(ask("exists", name)) : is("tableExists", name); }

  private static Object ask(String what, Identifier name) { return WritableTable.ask(what + "\0" + text(name) + "\0", null); }

  public Table alterTable(Identifier name, TableChange[] changes) throws Exception {
    if (!(load(name, false) instanceof NamedTable)) return (Table) parents("alterTable", Table.class, new Class[] {Identifier.class, TableChange[].class}, new Object[] {name, changes});
    WritableTable.ask("alter\0" + text(name) + "\0" + Changes.words(changes) + "\0", null);
    return load(name, false);
  }

  // The catalog has no entry for the table at a path, so Spark would report success without doing anything.
  public boolean dropTable(Identifier name) {
    refusePath("drop", name);
    return is("dropTable", name);
  }

  public boolean purgeTable(Identifier name) {
    refusePath("drop", name);
    return is("purgeTable", name);
  }

  public void renameTable(Identifier from, Identifier to) throws Exception {
    refusePath("rename", from);
    parents("renameTable", Void.TYPE, new Class[] {Identifier.class, Identifier.class}, new Object[] {from, to});
  }

  private void refusePath(String what, Identifier name) { if (isPath(name) && tableExists(name)) ask(what, name); }

  // With spark.sql.legacy.v1IdentifierNoCatalog Spark asks a name for a catalog that it does not have.
  public void invalidateTable(Identifier name) {
    try {
      parents("invalidateTable", Void.TYPE, new Class[] {Identifier.class}, new Object[] {name});
    } catch (java.util.NoSuchElementException noCatalog) {
      ((SESSION) org.apache.spark.sql.SparkSession.active()).sessionState().catalog().invalidateAllCachedTables();
    }
  }

  public Table createTable(Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception {
    if (!isOfDelta(properties)) return (Table) parents("createTable", Table.class, name, columns, partitions, properties);
    new NewTable("create", text(name), schema(columns), partitions(partitions), properties).commitStagedChanges();
    return load(name, isPath(name));
  }

  public Table createTable(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception {
    return createTable(name, new NoTable(schema).columns(), partitions, properties);
  }

  public StagedTable stageCreate(Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception { return staged("create", name, columns, partitions, properties); }

  public StagedTable stageReplace(Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception { return staged("replace", name, columns, partitions, properties); }

  public StagedTable stageCreateOrReplace(Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception { return staged("createOrReplace", name, columns, partitions, properties); }

  public StagedTable stageCreate(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception { return stageCreate(name, new NoTable(schema).columns(), partitions, properties); }

  public StagedTable stageReplace(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception { return stageReplace(name, new NoTable(schema).columns(), partitions, properties); }

  public StagedTable stageCreateOrReplace(Identifier name, StructType schema, Transform[] partitions, Map properties) throws Exception { return stageCreateOrReplace(name, new NoTable(schema).columns(), partitions, properties); }

  private StagedTable staged(String what, Identifier name, Column[] columns, Transform[] partitions, Map properties) throws Exception {
    if (isOfDelta(properties)) return new NewTable(what, text(name), schema(columns), partitions(partitions), properties);
    if (StagingTableCatalog.class.isAssignableFrom(PARENTS)) return (StagedTable) parents(STAGING[what.equals("create") ? 0 : what.equals("replace") ? 1 : 2], StagedTable.class, name, columns, partitions, properties);
    if (what.equals("replace") || tableExists(name) && what.equals("createOrReplace")) is("dropTable", name);
    return new OtherTable(this, name, (Table) parents("createTable", Table.class, name, columns, partitions, properties));
  }

  private static final String[] STAGING = {"stageCreate", "stageReplace", "stageCreateOrReplace"};

  // The parent's own method to create a table. If it has only the one with a schema, Spark's interface would call this class again.
  private Object parents(String method, Class result, Identifier name, Column[] columns, Transform[] partitions, Map properties) {
    Class[] types = {Identifier.class, Column[].class, Transform[].class, Map.class};
    Object[] given = {name, columns, partitions, properties};
    if (!parentHas(method, types)) {
      types[1] = StructType.class;
      given[1] = CatalogV2Util$.MODULE$.v2ColumnsToStructType(columns);
    }
    return parents(method, result, types, given);
  }

  // Whether the parent implements a method itself, in addition to an interface's default.
  private static boolean parentHas(String method, Class[] types) {
    try {
      return !PARENTS.getMethod(method, types).getDeclaringClass().isInterface();
    } catch (NoSuchMethodException older) {
      return false;
    }
  }

  private boolean is(String method, Identifier name) { return ((Boolean) parents(method, Boolean.TYPE, new Class[] {Identifier.class}, new Object[] {name})).booleanValue(); }

  // A method of the parent, as `super` calls it. Janino generates wrong code for methods of an interface, and not each parent has all.
  private Object parents(String method, Class result, Class[] types, Object[] given) {
    Object[] all = new Object[given.length + 1];
    all[0] = this;
    System.arraycopy(given, 0, all, 1, given.length);
    try {
      return MethodHandles.lookup().findSpecial(PARENTS, method, MethodType.methodType(result, types), Catalog.class).invokeWithArguments(all);
    } catch (Throwable failed) {
      org.apache.spark.unsafe.Platform.throwException(failed);
      return null;
    }
  }

  // By name, because a Spark asks only for the capabilities that it knows.
  public Set capabilities() {
    Set found = new HashSet((Set) parents("capabilities", Set.class, new Class[0], new Object[0]));
    TableCatalogCapability[] all = TableCatalogCapability.values();
    for (int i = 0; i < all.length; i++) if (all[i].name().matches(".*(GENERATED|IDENTITY)_COLUMNS|SUPPORT_COLUMN_DEFAULT_VALUE")) found.add(all[i]);
    return found;
  }

  private static boolean isWriter() { return !Callers.writer().isEmpty(); }

  // Spark's older commands can truncate a partition, and are refused.
  private static boolean isAlter(Origin origin) {
    String before = StatementText.before(origin);
    return ALTER.matcher(before).find() && !(TRUNCATE.matcher(before).find() && PARTITION.matcher(StatementText.behind(origin)).lookingAt());
  }

  // DESCRIBE of a table, not of the columns of a query.
  private static boolean isDescribe(Origin origin) { return DESCRIBE.matcher(StatementText.before(origin)).find() && !AS_JSON.matcher(StatementText.behind(origin)).lookingAt(); }

  // The table that an INSERT or DataFrameWriter.insertInto writes to, not one that its query reads. A Spark that does not pass the purpose
  // resolves the target as a part of the whole statement, and the query's tables as parts of the query.
  private static boolean isInsertInto(Origin origin) { return INSERT.matcher(StatementText.of(origin)).lookingAt() || Callers.include("DataFrameWriter", "insertInto"); }

  // DataFrame.mergeInto has no SQL.
  private static boolean isMerger() { return Callers.include("MergeIntoWriter", ""); }

  // Spark's catalog loads a table to find out whether it exists, and takes one error for a no.
  private static boolean isQuestion() { return Callers.include("Catalog", "tableExists") || Callers.include("CatalogImpl", "tableExists"); }

  private static boolean isMerge(Origin origin) { return MERGE.matcher(StatementText.before(origin)).find(); }

  private static boolean isDelta(CatalogTable entry) { return entry.provider().isDefined() && isDelta((String) entry.provider().get()); }

  private static boolean isDelta(String provider) { return provider != null && provider.toLowerCase().equals("delta"); }

  // A statement without USING means `spark.sql.sources.default`.
  private static boolean isOfDelta(Map properties) {
    String given = (String) properties.get("provider");
    return isDelta(given == null ? org.apache.spark.sql.internal.SQLConf.get().defaultDataSourceName() : given);
  }

  private static boolean isPath(Identifier name) {
    return name.namespace().length == 1 && isDelta(name.namespace()[0]) && name.name().indexOf('/') >= 0
        && org.apache.spark.sql.internal.SQLConf.get().runSQLonFile();
  }

  private static String text(Identifier name) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < name.namespace().length; i++) text.append(WritableTable.quoted(name.namespace()[i])).append('.');
    return text.append(WritableTable.quoted(name.name())).toString();
  }

  // Spark loses how a column is generated when it converts columns to a schema: 3.5 loses the expression, every version the identity.
  private static String schema(Column[] columns) throws Exception {
    StructField[] fields = CatalogV2Util$.MODULE$.v2ColumnsToStructType(columns).fields();
    for (int i = 0; i < fields.length; i++) {
      MetadataBuilder more = new MetadataBuilder().withMetadata(fields[i].metadata());
      if (columns[i].generationExpression() != null) more.putString("GENERATION_EXPRESSION", columns[i].generationExpression());
      Object identity = identity(columns[i]);
      if (identity != null) for (int j = 0; j < IDENTITY.length; j++) more.putString(IDENTITY[j][0], identity.getClass().getMethod(IDENTITY[j][1], new Class[0]).invoke(identity, new Object[0]).toString());
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), fields[i].nullable(), more.build());
    }
    return new StructType(fields).json();
  }

  // By name, because Spark 3.5 knows no identity columns.
  private static Object identity(Column column) throws Exception {
    try {
      return Column.class.getMethod("identityColumnSpec", new Class[0]).invoke(column, new Object[0]);
    } catch (NoSuchMethodException unknown) {
      return null;
    }
  }

  private static final String[][] IDENTITY = {{"identity.start", "getStart"}, {"identity.step", "getStep"}, {"identity.allowExplicitInsert", "isAllowExplicitInsert"}};

  // Each transform's name and its columns.
  private static String partitions(Transform[] transforms) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < transforms.length; i++) {
      text.append(i == 0 ? "" : "\3").append(transforms[i].name());
      NamedReference[] columns = transforms[i].references();
      for (int j = 0; j < columns.length; j++) text.append('\1').append(String.join("\2", columns[j].fieldNames()));
    }
    return text.toString();
  }
}
