package org.apache.comet;

/**
 * Every entry into the native library. Handles are addresses owned by the caller: a plan is closed exactly
 * once, a pool after all plans that use it. All methods but {@link #spill} are called on the task's thread.
 *
 * <p>Failures arrive as Spark's own exceptions: the original throwable when it was raised by an upcall,
 * otherwise what {@link NativeErrors} makes of the engine's error record.
 */
public final class Native {
  private Native() {}

  /** Version the library was built for; equal to the jar's. */
  public static native String version();

  /** The function and operator registry as JSON, see {@code halley registry --json}. */
  public static native String registryJson();

  /** Binds nodes on the driver. Takes a serialized {@code BindRequest}, returns a serialized {@code BindResponse}. */
  public static native byte[] bind(byte[] request);

  /** Opens the pool of a task: operator state is reserved from {@code host.acquire}. */
  public static native long openPool(MemoryHost host);

  /**
   * Opens the native side of a broadcast value: the tables that this process's tasks share. Closed exactly once, by any
   * thread, when no plan can ask for it any more; plans that use its tables then keep them.
   */
  public static native long openBroadcast();

  public static native void closeBroadcast(long broadcast);

  /** Tables of broadcast values in this process, their bytes, and how many were built since it started. */
  public static native long[] broadcastTables();

  /** Asks the pool's plans to give back memory. Any thread. Returns bytes released, 0 when the plans are busy. */
  public static native long spill(long pool, long bytes);

  /** Frees the pool; returns bytes still reserved by it (0 unless there is a leak). */
  public static native long closePool(long pool);

  /** Opens a plan for a task input (serialized {@code Stage} and {@code TaskInput}). */
  public static native long open(byte[] stage, byte[] taskInput, TaskHost host, long pool);

  /** Next batch as columns: address of a {@code hly_export_batch}, valid until the next call; 0 at the end. */
  public static native long next(long plan);

  /** Next batch as UnsafeRows: address of a {@code hly_export_rows}, valid until the next call; 0 at the end. */
  public static native long nextRows(long plan);

  /**
   * Runs a plan whose root is a ShuffleWrite to its end, leaving the map output in {@code dataFile}.
   * Returns the length in bytes of each partition in it; where the plan asks for checksums, then the checksum of each.
   */
  public static native long[] write(long plan, String dataFile);

  /** Copies the metric slots of operator {@code planId} into {@code out} (length N_METRICS). False if there is no such operator. */
  public static native boolean metrics(long plan, int planId, long[] out);

  /** Closes the plan: frees its memory and removes its temporary files. Never throws. */
  public static native void close(long plan);

  /** Bytes the native allocator has handed out and not got back, in the whole process. */
  public static native long memoryInUse();
}
