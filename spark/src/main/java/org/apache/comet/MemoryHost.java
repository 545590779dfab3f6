package org.apache.comet;

/** What a native memory pool asks of the task: Spark's TaskMemoryManager behind two methods. */
public interface MemoryHost {
  /** Asks for execution memory; returns the bytes granted, which may be fewer. May call {@link Native#spill} on this thread. */
  long acquire(long bytes);

  void release(long bytes);
}
