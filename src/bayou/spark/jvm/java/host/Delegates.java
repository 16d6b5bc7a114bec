// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.codehaus.janino.SimpleCompiler;

// Creates objects that forward the methods of interfaces to a handler, like java.lang.reflect.Proxy. A Proxy wraps a checked exception that
// a method does not declare, and Scala declares almost none of those that it throws. These objects throw it unchanged.
public final class Delegates {
  private static final String NAME = "bayou_generated.Delegate";
  private static final Map made = Collections.synchronizedMap(new HashMap());  // by interfaces

  private Delegates() {}

  public static Object of(Class[] interfaces, ClassLoader loader, InvocationHandler handler) {
    Method[] methods = methods(interfaces);
    try {
      Constructor constructor = type(interfaces, methods, loader).getConstructors()[0];
      return constructor.newInstance(new Object[] {handler, methods});
    } catch (Exception notPublic) {
      return Proxy.newProxyInstance(loader, interfaces, handler);  // a source cannot name an interface that is private to its package
    } catch (LinkageError notPublic) {
      return Proxy.newProxyInstance(loader, interfaces, handler);
    }
  }

  // Returns null for an object that was not created here.
  public static InvocationHandler handler(Object there) {
    if (Proxy.isProxyClass(there.getClass())) return Proxy.getInvocationHandler(there);
    if (!made.containsValue(there.getClass())) return null;
    try {
      return (InvocationHandler) there.getClass().getField("handler").get(there);
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  // An interface may override a method of another one with a narrower result.
  private static Method[] methods(Class[] interfaces) {
    Map found = new LinkedHashMap();
    for (int i = 0; i < interfaces.length; i++) {
      Method[] all = interfaces[i].getMethods();
      for (int j = 0; j < all.length; j++) {
        if (Modifier.isStatic(all[j].getModifiers())) continue;
        Object key = Arrays.asList(new Object[] {all[j].getName(), Arrays.asList(all[j].getParameterTypes())});
        Method known = (Method) found.get(key);
        if (known == null || known.getReturnType().isAssignableFrom(all[j].getReturnType())) found.put(key, all[j]);
      }
    }
    return (Method[]) found.values().toArray(new Method[0]);
  }

  private static Class type(Class[] interfaces, Method[] methods, ClassLoader loader) throws Exception {
    Object key = new ArrayList(Arrays.asList(interfaces));
    Class known = (Class) made.get(key);
    if (known != null) return known;
    SimpleCompiler compiler = new SimpleCompiler();
    compiler.setParentClassLoader(loader);
    compiler.cook(source(interfaces, methods));
    Class found = compiler.getClassLoader().loadClass(NAME);
    made.put(key, found);
    return found;
  }

  private static String source(Class[] interfaces, Method[] methods) {
    StringBuilder text = new StringBuilder("package bayou_generated;\npublic class Delegate implements ");
    for (int i = 0; i < interfaces.length; i++) text.append(i == 0 ? "" : ", ").append(interfaces[i].getName());
    text.append(" {\npublic final java.lang.reflect.InvocationHandler handler;\nprivate final java.lang.reflect.Method[] methods;\n");
    text.append("public Delegate(java.lang.reflect.InvocationHandler handler, java.lang.reflect.Method[] methods) {\n");
    text.append("this.handler = handler;\nthis.methods = methods;\n}\n");
    for (int i = 0; i < methods.length; i++) text.append(source(methods[i], i));
    return text.append("}\n").toString();
  }

  private static String source(Method method, int number) {
    StringBuilder parameters = new StringBuilder(), arguments = new StringBuilder();
    Class[] types = method.getParameterTypes();
    for (int i = 0; i < types.length; i++) {
      String comma = i == 0 ? "" : ", ";
      parameters.append(comma).append(name(types[i])).append(" a").append(i);
      arguments.append(comma).append(types[i].isPrimitive() ? boxed(types[i]) + ".valueOf(a" + i + ")" : "a" + i);
    }
    Class type = method.getReturnType();
    String call = "handler.invoke(this, methods[" + number + "], new Object[] {" + arguments + "})";
    String given = type == void.class ? call : "return (" + (type.isPrimitive() ? "(" + boxed(type) + ") " + call + ")." + type + "Value()" : name(type) + ") " + call);
    return "public " + name(type) + " " + method.getName() + "(" + parameters + ") {\ntry {\n" + given + ";\n} catch (Throwable failed) {\n"
        + "org.apache.spark.unsafe.Platform.throwException(failed);\nthrow new IllegalStateException(failed);\n}\n}\n";
  }

  private static String name(Class type) { return type.isArray() ? name(type.getComponentType()) + "[]" : type.getName(); }

  private static String boxed(Class type) {
    if (type == int.class) return "Integer";
    if (type == char.class) return "Character";
    return type.getName().substring(0, 1).toUpperCase() + type.getName().substring(1);
  }
}
