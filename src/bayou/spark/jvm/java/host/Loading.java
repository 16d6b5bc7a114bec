// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

// Defines compiled classes in an existing class loader, such as that of Spark's own classes. Spark then finds them on each thread,
// whatever its class loader.
public final class Loading {
  private Loading() {}

  public static void define(String folder, ClassLoader loader) throws Exception {
    Method define = ClassLoader.class.getDeclaredMethod("defineClass", new Class[] {String.class, byte[].class, Integer.TYPE, Integer.TYPE, ProtectionDomain.class});
    define.setAccessible(true);
    // The classes state their origin, like those of a class path.
    ProtectionDomain domain = new ProtectionDomain(new CodeSource(new File(folder).toURI().toURL(), (java.security.cert.Certificate[]) null), null);
    List left = new ArrayList();
    find(new File(folder), left);
    for (int before = -1; left.size() != before;) {
      before = left.size();
      for (Iterator i = left.iterator(); i.hasNext();) if (isDefined(Files.readAllBytes(((File) i.next()).toPath()), loader, define, domain)) i.remove();
    }
    if (!left.isEmpty()) throw new LinkageError("cannot be linked: " + left);
  }

  private static void find(File folder, List found) {
    File[] files = folder.listFiles();
    for (int i = 0; i < files.length; i++) {
      if (files[i].isDirectory()) find(files[i], found);
      else if (files[i].getName().endsWith(".class")) found.add(files[i]);
    }
  }

  // Returns false if the class that it extends is not defined yet.
  private static boolean isDefined(byte[] code, ClassLoader loader, Method define, ProtectionDomain domain) throws Exception {
    try {
      define.invoke(loader, new Object[] {null, code, Integer.valueOf(0), Integer.valueOf(code.length), domain});
      return true;
    } catch (InvocationTargetException failed) {
      if (failed.getCause() instanceof NoClassDefFoundError) return false;
      if (failed.getCause() instanceof LinkageError && String.valueOf(failed.getCause().getMessage()).contains("duplicate")) return true;
      throw failed;
    }
  }
}
