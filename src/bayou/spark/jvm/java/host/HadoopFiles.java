// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

// Operations on one of Hadoop's file systems. Each returns bytes in base64, the first of which is the outcome, so that a missing file
// raises no exception on its way to Python.
public class HadoopFiles {
  private static final byte[] NONE = {1};
  private final Configuration conf;
  private final FileSystem system;
  private FileContext context;

  public HadoopFiles(String uri, Configuration conf) throws Exception {
    this.conf = conf;
    this.system = FileSystem.get(new Path(uri).toUri(), conf);
  }

  public FileSystem system() { return system; }

  public synchronized FileContext context() throws Exception {
    if (context == null) context = FileContext.getFileContext(system.getUri(), conf);
    return context;
  }

  // Resolves the links of a view: the nearest existing folder, and the class of its file system.
  public String target(String path) {
    try {
      Path at = new Path(path);
      while (at.getParent() != null && !system.exists(at)) at = at.getParent();
      Path real = system.resolvePath(at);
      return sent(done(real + "\0" + real.getFileSystem(conf).getClass().getName()));
    } catch (Throwable error) { return sent(failed(error)); }
  }

  // The files of a folder from a name on: name, size and modification time, each ended by NUL.
  public String list(String folder, String from) {
    try {
      FileStatus[] found = system.listStatus(new Path(folder));
      if (found.length == 1 && found[0].getPath().equals(system.makeQualified(new Path(folder)))) return sent(NONE);  // it is a file
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < found.length; i++) {
        String name = found[i].getPath().getName();
        if (!found[i].isDirectory() && name.compareTo(from) >= 0)
          text.append(name).append('\0').append(found[i].getLen()).append('\0').append(found[i].getModificationTime()).append('\0');
      }
      return sent(done(text.toString()));
    } catch (Throwable error) { return sent(failed(error)); }
  }

  // The size of a file and its modification time.
  public String status(String file) {
    try {
      FileStatus found = system.getFileStatus(new Path(file));
      return sent(found.isDirectory() ? NONE : done(found.getLen() + "\0" + found.getModificationTime()));
    } catch (Throwable error) { return sent(failed(error)); }
  }

  // Creates a file and its folders. Writes it whole, or its beginning, and then returns a stream for the rest.
  public Object write(String file, byte[] data, boolean whole) {
    try {
      FSDataOutputStream out = system.create(new Path(file), false);
      String answer = append(out, data, whole);
      return whole || !answer.equals(sent(done(""))) ? answer : (Object) out;
    } catch (Throwable error) { return sent(failed(error)); }
  }

  // After the last part the file is closed, and on the disks of the servers that store it.
  public String append(FSDataOutputStream out, byte[] data, boolean last) {
    try {
      boolean written = false;
      try {
        out.write(data);
        if (last) out.hsync();
        written = true;
      } finally { if (last || !written) out.close(); }
      return sent(done(""));
    } catch (Throwable error) { return sent(failed(error)); }
  }

  public String rename(String from, String to, boolean replace) {
    try {
      Options.Rename how = replace ? Options.Rename.OVERWRITE : Options.Rename.NONE;
      context().rename(system.makeQualified(new Path(from)), system.makeQualified(new Path(to)), new Options.Rename[] {how});
      return sent(done(""));
    } catch (Throwable error) { return sent(failed(error)); }
  }

  // A string, because py4j decodes bytes one by one in Python.
  static String sent(byte[] answer) { return java.util.Base64.getEncoder().encodeToString(answer); }

  static byte[] done(String text) { return answer(0, text); }

  static byte[] failed(Throwable error) {
    if (error instanceof java.io.FileNotFoundException || error instanceof org.apache.hadoop.fs.ParentNotDirectoryException
        || String.valueOf(error.getMessage()).indexOf("(is not a directory)") >= 0) return NONE;
    if (error instanceof org.apache.hadoop.fs.FileAlreadyExistsException) return new byte[] {2};
    return answer(3, error.getClass().getName() + "\0" + error.getMessage());
  }

  private static byte[] answer(int how, String text) {
    byte[] bytes = ("?" + text).getBytes(StandardCharsets.UTF_8);
    bytes[0] = (byte) how;
    return bytes;
  }
}
