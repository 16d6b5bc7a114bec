// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;

// Reads many files in one call, on several threads. The answers are those of `HadoopFiles`, in order, each after its length.
public class HadoopReads {
  private static final int TAIL = 65536;
  private static final int MOST = 16 << 20;  // the size of a whole file

  private final HadoopFiles files;

  public HadoopReads(HadoopFiles files) { this.files = files; }

  // Performs an operation for each item until the answers reach `enough` bytes. The caller asks again for the rest.
  public String each(final String what, String items, int threads, int enough) throws Exception {
    ArrayList calls = new ArrayList();
    String[] texts = items.split("\0");
    for (int i = 0; i < texts.length; i++) {
      final String item = texts[i];
      calls.add(new Callable() { public Object call() { return one(what, item); } });
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    DataOutputStream data = new DataOutputStream(out);
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(threads, calls.size()));
    try {
      for (int from = 0; from < calls.size() && out.size() < enough; from += 4 * threads) {
        List answers = pool.invokeAll(calls.subList(from, Math.min(calls.size(), from + 4 * threads)));
        for (int i = 0; i < answers.size(); i++) {
          byte[] answer = (byte[]) ((Future) answers.get(i)).get();
          data.writeInt(answer.length);
          data.write(answer);
        }
      }
    } finally { pool.shutdown(); }
    return HadoopFiles.sent(out.toByteArray());
  }

  public String whole(String file) { return HadoopFiles.sent(one("read", file)); }

  private byte[] one(String what, String item) {
    try {
      if (what.equals("delete")) return HadoopFiles.done(String.valueOf(files.system().delete(new Path(item), false)));
      if (what.equals("clear")) return HadoopFiles.done(String.valueOf(files.system().delete(new Path(item), true)));
      if (what.equals("list")) return listed(new Path(item));
      if (what.equals("move")) return moved(item.substring(0, item.indexOf('\1')), new Path(item.substring(item.indexOf('\1') + 1)));
      if (what.equals("read")) return whole(files.system().open(new Path(item)));
      int space = item.indexOf(' ');  // a footer: the file's size and its path
      return footer(files.system().open(new Path(item.substring(space + 1))), Long.parseLong(item.substring(0, space)));
    } catch (Throwable error) { return HadoopFiles.failed(error); }
  }

  // The content of a folder: name, size (-1 for a folder) and modification time, each ended by NUL.
  private byte[] listed(Path folder) throws Exception {
    StringBuilder text = new StringBuilder();
    FileStatus[] found = files.system().listStatus(folder);
    if (found.length == 1 && found[0].getPath().equals(files.system().makeQualified(folder))) return HadoopFiles.done("");
    for (int i = 0; i < found.length; i++)
      text.append(found[i].getPath().getName()).append('\0').append(found[i].isDirectory() ? -1L : found[i].getLen()).append('\0')
          .append(found[i].getModificationTime()).append('\0');
    return HadoopFiles.done(text.toString());
  }

  private byte[] moved(String from, Path to) throws Exception {
    files.system().mkdirs(to.getParent());
    if (!files.system().rename(new Path(from), to)) throw new java.io.IOException(from + " cannot be renamed to " + to);
    return HadoopFiles.done("");
  }

  private static byte[] whole(FSDataInputStream in) throws Exception {
    try {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(0);
      IOUtils.copyBytes(in, out, (long) MOST, false);
      return in.read() < 0 ? out.toByteArray() : new byte[] {4};
    } finally { in.close(); }
  }

  // The footer of a Parquet file, its length and the closing mark. Python's reader detects a file that has none.
  private static byte[] footer(FSDataInputStream in, long size) throws Exception {
    try {
      byte[] tail = part(in, Math.max(0L, size - TAIL), (int) Math.min(size, (long) TAIL));
      if (tail[0] != 0) return tail;
      long length = size < 8 ? -1L : 8L + ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt(tail.length - 8);
      if (length > tail.length - 1 && length <= size) return part(in, size - length, (int) length);
      byte[] found = length < 8 || length > size ? tail : Arrays.copyOfRange(tail, tail.length - 1 - (int) length, tail.length);
      found[0] = 0;
      return found;
    } finally { in.close(); }
  }

  // A stream to read parts of a file, or the bytes of an error.
  public Object open(String file) {
    try { return files.system().open(new Path(file)); } catch (Throwable error) { return HadoopFiles.sent(HadoopFiles.failed(error)); }
  }

  public String read(FSDataInputStream in, long position, int length) { return HadoopFiles.sent(part(in, position, length)); }

  private static byte[] part(FSDataInputStream in, long position, int length) {
    try {
      byte[] out = new byte[1 + length];
      in.readFully(position, out, 1, length);
      return out;
    } catch (Throwable error) { return HadoopFiles.failed(error); }
  }
}
