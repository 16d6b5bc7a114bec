// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.apache.spark.unsafe.Platform;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.PythonClient;
import py4j.reflection.PythonProxyHandler;

// Calls Python. No Java interface declares the exception of a failed job, so a proxy wraps it: the handlers of a script, Spark 3.5's streams
// and users see only the outermost exception.
public final class Python {
  private static final Map<Thread, ClientServerConnection> CONNECTIONS = new HashMap<>();

  private Python() {}

  // A message: a word for the question, and strings, each ended by NUL. It is one string, because every call through py4j costs.
  public static String message(String[] texts) {
    StringBuilder message = new StringBuilder();
    for (int i = 0; i < texts.length; i++) message.append(texts[i]).append('\0');
    return message.toString();
  }

  public static Object ask(BiFunction body, Object first, Object second) {
    PythonClient unconnected = unconnected(body);
    try {
      return body.apply(first, second);
    } catch (UndeclaredThrowableException wrapped) {
      Platform.throwException(bare(wrapped));
      return null;
    } finally {
      if (unconnected != null) keep(unconnected);
    }
  }

  public static void tell(BiConsumer body, Object first, Object second) {
    PythonClient unconnected = unconnected(body);
    try {
      body.accept(first, second);
    } catch (UndeclaredThrowableException wrapped) {
      Platform.throwException(bare(wrapped));
    } finally {
      if (unconnected != null) keep(unconnected);
    }
  }

  private static Throwable bare(Throwable error) {
    while (error instanceof UndeclaredThrowableException && error.getCause() != null) error = error.getCause();
    return error;
  }

  // A thread that Python did not start gets its own connection at its first call. py4j 0.10.9.9 keeps it, with a thread of Python at the
  // other end, after the thread has ended (PythonClient.setupCleaner does nothing). Spark starts new threads for broadcasts, subqueries and
  // streams all the time, so the first call of a new thread closes the connections of ended ones.
  private static PythonClient unconnected(Object body) {
    if (!Proxy.isProxyClass(body.getClass()) || !(Proxy.getInvocationHandler(body) instanceof PythonProxyHandler)) return null;
    try {
      Field gateway = PythonProxyHandler.class.getDeclaredField("gateway");
      gateway.setAccessible(true);
      Object client = ((Gateway) gateway.get(Proxy.getInvocationHandler(body))).getCallbackClient();
      if (!(client instanceof PythonClient)) return null;  // without pinned threads, py4j pools and closes connections
      ClientServerConnection connection = ((PythonClient) client).getPerThreadConnection();
      return connection == null || connection.getSocket() == null ? (PythonClient) client : null;
    } catch (ReflectiveOperationException unknown) {
      return null;
    }
  }

  private static void keep(PythonClient client) {
    ClientServerConnection connection = client.getPerThreadConnection();
    if (connection == null) return;
    synchronized (CONNECTIONS) {
      for (Object thread : CONNECTIONS.keySet().toArray()) {
        if (!((Thread) thread).isAlive()) close(client, (ClientServerConnection) CONNECTIONS.remove(thread));
      }
      CONNECTIONS.put(Thread.currentThread(), connection);
    }
  }

  private static void close(PythonClient client, ClientServerConnection connection) {
    try {
      Lock lock = (Lock) fieldOf(client, "lock");
      lock.lock();
      try {
        ((Collection) fieldOf(client, "connections")).remove(connection);
      } finally {
        lock.unlock();
      }
    } catch (ReflectiveOperationException unknown) {  // the closed connection stays in the client's list
    }
    connection.shutdown();
  }

  private static Object fieldOf(PythonClient client, String name) throws ReflectiveOperationException {
    Field field = CallbackClient.class.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(client);
  }
}
