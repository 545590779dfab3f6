package org.apache.comet;

import org.apache.spark.sql.comet.SparkErrors;

/** What the native library throws: found by name when it loads. Answers the throwable, which the library raises. */
final class NativeErrors {
  private NativeErrors() {}

  /**
   * Spark's own exception for an error of the engine.
   *
   * @param kind the class of exception, as in engine/include/halley/errors.def
   * @param text everything known, for where Spark's exception has no place for it
   */
  static Throwable raise(
      String condition, String sqlState, String kind, String[] names, String[] values, String text) {
    return SparkErrors.make(condition, kind, names, values, text);
  }

  /** The task was asked to stop. */
  static Throwable cancelled() {
    return SparkErrors.cancelled();
  }
}
