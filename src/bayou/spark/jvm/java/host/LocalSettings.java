// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;

// The settings of a job that writes to the local disk. A job sends its settings to each task. A thousand of them are Hadoop's defaults,
// which no write to a local file needs, and which cost more than the file of one row.
public class LocalSettings {
  private static final String[] DEFAULTS = {"core-default.xml", "hdfs-default.xml", "mapred-default.xml", "yarn-default.xml"};

  // Omits Hadoop's checksum files, unless the user chose another class for local files. Only Hadoop's local file system reads them, and each
  // costs a process for chmod.
  public static Configuration of(Configuration given) {
    Configuration chosen = new Configuration(false);
    for (java.util.Iterator i = given.iterator(); i.hasNext();) {
      String name = (String) ((Map.Entry) i.next()).getKey();
      if (!isDefault(given.getPropertySources(name))) chosen.set(name, given.get(name));
    }
    if (chosen.get("fs.file.impl") == null) {
      chosen.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
      chosen.set("fs.file.impl.disable.cache", "true");
    }
    return chosen;
  }

  private static boolean isDefault(String[] sources) {
    if (sources == null || sources.length == 0) return false;
    for (int i = 0; i < DEFAULTS.length; i++) if (DEFAULTS[i].equals(sources[sources.length - 1])) return true;
    return false;
  }
}
