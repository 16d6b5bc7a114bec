// SPDX-License-Identifier: Apache-2.0
package bayou;

import java.lang.reflect.UndeclaredThrowableException;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.apache.spark.unsafe.Platform;

// Calls to Python. What a job failed with no Java interface declares, and a proxy wraps it: the handlers of a script, Spark 3.5's
// streams and users look at the outermost error only.
public final class Python {
  private Python() {}

  public static Object ask(BiFunction body, Object first, Object second) {
    try {
      return body.apply(first, second);
    } catch (UndeclaredThrowableException wrapped) {
      Platform.throwException(bare(wrapped));
      return null;
    }
  }

  public static void tell(BiConsumer body, Object first, Object second) {
    try {
      body.accept(first, second);
    } catch (UndeclaredThrowableException wrapped) {
      Platform.throwException(bare(wrapped));
    }
  }

  private static Throwable bare(Throwable error) {
    while (error instanceof UndeclaredThrowableException && error.getCause() != null) error = error.getCause();
    return error;
  }
}
