// SPDX-License-Identifier: Apache-2.0
package bayou;

// What one job wrote, as Spark's file sink notes it at the end of the job, kept in memory until Python takes it.
public class WrittenFiles extends SINKLOG {
  private Object[] files = new Object[0];

  public WrittenFiles(SESSION session, String folder) { super(1, session, folder, scala.Option.empty()); }

  public boolean add(long batch, Object[] written) {
    files = written;
    return true;
  }

  // One line a file, in JSON, after a line with the format's version.
  public String text() {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    serialize(files, out);
    return new String(out.toByteArray(), java.nio.charset.StandardCharsets.UTF_8);
  }
}
