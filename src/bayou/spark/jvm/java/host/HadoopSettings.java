// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

// Reads settings of a Hadoop configuration, and secrets of its credential providers.
public class HadoopSettings {
  private final Configuration conf;

  public HadoopSettings(Configuration conf) { this.conf = conf; }

  // The settings with a prefix that are not Hadoop's own defaults, and the secrets that are set, of the names in `names`, one per
  // line. Name and value, each ended by NUL.
  public String text(String prefix, String names) throws Exception {
    String[] secrets = names.split("\n");
    StringBuilder text = new StringBuilder();
    for (Iterator i = conf.iterator(); i.hasNext();) {
      String name = (String) ((Map.Entry) i.next()).getKey();
      if (name.startsWith(prefix) && !isDefault(name)) add(text, name, conf.get(name));
    }
    for (int i = 0; i < secrets.length; i++) {
      char[] found = conf.getPassword(secrets[i]);
      if (found != null && found.length > 0) add(text, secrets[i], new String(found));
    }
    return text.toString();
  }

  private boolean isDefault(String name) {
    String[] sources = conf.getPropertySources(name);
    return sources != null && sources.length == 1 && sources[0].endsWith("core-default.xml");
  }

  private static void add(StringBuilder text, String name, String value) {
    if (value != null) text.append(name).append('\0').append(value).append('\0');
  }
}
