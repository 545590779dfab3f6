package org.apache.comet;

/**
 * What a running native plan asks of the JVM. Called on the thread that called into the plan. Descriptor
 * addresses point to the C structs of the same name in {@code engine/include/halley/host.h}; fields are
 * read and written with {@code Platform}. Anything thrown is kept and rethrown by the call into the plan.
 */
public interface TaskHost {
  /** Whether the task was asked to stop; cheap, asked once a batch. */
  boolean cancelled();

  /**
   * Next block of JVM input {@code handle}: fills the {@code hly_input_block} at {@code desc}. False at the
   * end. The block's memory belongs to the host and stays valid until the next call for the same handle.
   */
  boolean inputNext(int handle, long desc);

  /**
   * The native handle ({@link Native#openBroadcast}) of the value that JVM input {@code handle} reads, valid until the
   * plan is closed; 0 where the input is no broadcast of ours.
   */
  long broadcast(int handle);

  /**
   * Evaluates expressions of operator {@code planId} over rows: fills the {@code hly_dispatch_call} at
   * {@code desc}. A row that raises ends the call: {@code n_done} says how many rows are good, and the
   * throwable is kept under the returned reference. Returns 0 when every row is good.
   */
  long dispatch(int planId, int site, long desc);

  /** The throwable kept under a reference that {@link #dispatch} returned. */
  Throwable raised(long reference);

  /** A new path for a temporary file on one of Spark's local disks. The engine creates and deletes the file. */
  String tempFile();

  /** Opens a file through Hadoop; returns a handle, 0 where there is no such file. */
  long fileOpen(String uri);

  /** Reads exactly {@code n} bytes at {@code position} to {@code address}, or throws EOFException. */
  void fileRead(long file, long position, long address, int n);

  void fileClose(long file);

  /** The scan begins to read a file: what input_file_name() and its kin return from here on. Empty path: none. */
  void inputFile(String path, long start, long length);
}
