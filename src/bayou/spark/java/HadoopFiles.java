// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

// One of Hadoop's file systems, in whole calls. Each answers with bytes, the first of which says how it went, so that a file
// that is not there makes no exception on its way to Python.
public class HadoopFiles {
  private final URI uri;
  private final Configuration conf;
  private final FileSystem own;
  private FileContext context;

  // With settings of its own it shares no instance: Hadoop's cache of instances does not look at settings.
  public HadoopFiles(String uri, Configuration conf, boolean shared) throws Exception {
    this.uri = new Path(uri).toUri();
    this.conf = conf;
    this.own = shared ? null : FileSystem.get(this.uri, conf);
  }

  public FileSystem system() throws Exception { return own != null ? own : FileSystem.get(uri, conf); }

  public synchronized FileContext context() throws Exception {
    if (context == null) context = FileContext.getFileContext(uri, conf);
    return context;
  }

  // What a path is behind the links of a view: where its nearest folder is, and the class of the file system that has it.
  public byte[] target(String path) {
    try {
      Path at = new Path(path);
      while (at.getParent() != null && !system().exists(at)) at = at.getParent();
      Path real = system().resolvePath(at);
      return done(real + "\0" + real.getFileSystem(conf).getClass().getName());
    } catch (Throwable error) { return failed(error); }
  }

  // The files of a folder from a name on: name, size and modification time, each ended by NUL.
  public byte[] list(String folder, String from) {
    try {
      FileStatus[] found = system().listStatus(new Path(folder));
      if (found.length == 1 && found[0].getPath().equals(system().makeQualified(new Path(folder)))) return new byte[] {1};  // no folder
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < found.length; i++) {
        String name = found[i].getPath().getName();
        if (!found[i].isDirectory() && name.compareTo(from) >= 0)
          text.append(name).append('\0').append(found[i].getLen()).append('\0').append(found[i].getModificationTime()).append('\0');
      }
      return done(text.toString());
    } catch (Throwable error) { return failed(error); }
  }

  public byte[] size(String file) {
    try {
      FileStatus found = system().getFileStatus(new Path(file));
      return found.isDirectory() ? new byte[] {1} : done(String.valueOf(found.getLen()));
    } catch (Throwable error) { return failed(error); }
  }

  // A new file with its folders, on the disks of those that keep it.
  public byte[] write(String file, byte[] data) {
    try {
      FSDataOutputStream out = system().create(new Path(file), false);
      try {
        out.write(data);
        out.hsync();
      } finally { out.close(); }
      return done("");
    } catch (Throwable error) { return failed(error); }
  }

  public byte[] rename(String from, String to, boolean replace) {
    try {
      Options.Rename how = replace ? Options.Rename.OVERWRITE : Options.Rename.NONE;
      context().rename(new Path(from), new Path(to), new Options.Rename[] {how});
      return done("");
    } catch (Throwable error) { return failed(error); }
  }

  static byte[] done(String text) { return answer(0, text); }

  static byte[] failed(Throwable error) {
    if (error instanceof java.io.FileNotFoundException || error instanceof org.apache.hadoop.fs.ParentNotDirectoryException) return new byte[] {1};
    if (error instanceof org.apache.hadoop.fs.FileAlreadyExistsException) return new byte[] {2};
    return answer(3, error.getClass().getName() + "\0" + error.getMessage());
  }

  private static byte[] answer(int how, String text) {
    byte[] bytes = ("?" + text).getBytes(StandardCharsets.UTF_8);
    bytes[0] = (byte) how;
    return bytes;
  }
}
