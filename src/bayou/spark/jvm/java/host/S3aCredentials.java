// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.Date;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

// The credentials that S3A uses, from any classes that provide them. S3A is called by reflection, because it may be absent.
public class S3aCredentials {
  // The key's id, the secret, the session's token, and the time of expiry in ms since the epoch, each ended by NUL, or empty. `apart` asks
  // for a separate file system: Hadoop caches one for a bucket, whatever its settings.
  public static String text(String bucket, Configuration conf, boolean apart) throws Throwable {
    URI uri = URI.create("s3a://" + bucket + "/");
    apart |= conf.getBoolean("fs.s3a.impl.disable.cache", false);  // then Hadoop creates one for each call and closes none
    FileSystem files = apart ? FileSystem.newInstance(uri, conf) : FileSystem.get(uri, conf);
    try {
      Object owner = has(files, "getS3AInternals") ? call(files, "getS3AInternals") : files;  // since Hadoop 3.4
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

  // The result of one of two methods, as a string: SDK 2 has the first, SDK 1 the second.
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
    method.setAccessible(true);  // public methods of classes that are not public
    try {
      return method.invoke(owner, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
