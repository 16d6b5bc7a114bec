// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.Date;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

// The credentials that S3A asks with, whichever classes provide them. S3A need not be there: it is called by reflection.
public class S3aCredentials {
  // The key's id, the secret, the session's token, and when they expire in ms since the epoch, each ended by NUL; empty where there is
  // none. `apart` asks for a file system of its own: Hadoop keeps one for a bucket, whatever its settings are.
  public static String text(String bucket, Configuration conf, boolean apart) throws Throwable {
    URI uri = URI.create("s3a://" + bucket + "/");
    apart |= conf.getBoolean("fs.s3a.impl.disable.cache", false);  // then Hadoop makes one for each call, and closes none
    FileSystem files = apart ? FileSystem.newInstance(uri, conf) : FileSystem.get(uri, conf);
    try {
      Object owner = has(files, "getS3AInternals") ? call(files, "getS3AInternals") : files;  // Hadoop 3.4 moved it there
      Object list = invoke(owner.getClass().getMethod("shareCredentials", new Class[] {String.class}), owner, new Object[] {"bayou"});
      try {
        Object found = call(list, has(list, "resolveCredentials") ? "resolveCredentials" : "getCredentials");
        return first(found, "accessKeyId", "getAWSAccessKeyId") + '\0' + first(found, "secretAccessKey", "getAWSSecretKey") + '\0'
            + first(found, "sessionToken", "getSessionToken") + '\0' + first(found, "expirationTime", "getExpiration") + '\0';
      } finally {
        call(list, "close");
      }
    } finally {
      if (apart) files.close();
    }
  }

  // What one of two methods gives, as text: SDK 2 has the one, SDK 1 the other.
  private static String first(Object found, String ofTwo, String ofOne) throws Throwable {
    String name = has(found, ofTwo) ? ofTwo : ofOne;
    Object value = has(found, name) ? call(found, name) : null;
    if (value instanceof Optional) value = ((Optional) value).orElse(null);
    if (value instanceof java.time.Instant) return String.valueOf(((java.time.Instant) value).toEpochMilli());
    if (value instanceof Date) return String.valueOf(((Date) value).getTime());
    return value == null ? "" : value.toString();
  }

  private static boolean has(Object owner, String name) {
    try {
      owner.getClass().getMethod(name, new Class[0]);
      return true;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  private static Object call(Object owner, String name) throws Throwable {
    return invoke(owner.getClass().getMethod(name, new Class[0]), owner, new Object[0]);
  }

  private static Object invoke(Method method, Object owner, Object[] arguments) throws Throwable {
    method.setAccessible(true);  // classes that are not public have public methods
    try {
      return method.invoke(owner, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
