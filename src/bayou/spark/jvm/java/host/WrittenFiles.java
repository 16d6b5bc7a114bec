// SPDX-License-Identifier: Apache-2.0
package bayou;

// The files that a job wrote, as Spark's file sink logs them at the end of the job. They stay in memory until Python reads them.
public class WrittenFiles extends SINKLOG {
  private Object[] files = new Object[0];

  public WrittenFiles(SESSION session, String folder) { super(1, session, folder, scala.Option.empty()); }

  public boolean add(long batch, Object[] written) {
    files = written;
    return true;
  }

  // One line of JSON per file, after a line with the format's version.
  public String text() {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    serialize(files, out);
    return new String(out.toByteArray(), java.nio.charset.StandardCharsets.UTF_8);
  }
}
