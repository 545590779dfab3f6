package org.apache.comet;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.slf4j.LoggerFactory;

/** The program that {@code NativeLibrarySuite} starts: loads the library and says what came of it. */
public final class LoadProbe {
  private LoadProbe() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("threads")) {
      threads();
      return;
    }
    // The logger's own start is not the library's time: Spark has it behind it.
    LoggerFactory.getLogger(LoadProbe.class).debug("started");
    // Processor time: what a busy machine adds is not the library's.
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    long start = clock.getCurrentThreadCpuTime();
    try {
      boolean loaded = NativeLibrary.load(Boolean.parseBoolean(arguments[0]));
      System.out.println("loaded=" + loaded + " again=" + NativeLibrary.load(false));
    } catch (IllegalStateException e) {
      System.out.println(e.getMessage());
      System.exit(3);
    }
    System.out.println("millis=" + (clock.getCurrentThreadCpuTime() - start) / 1_000_000);
  }

  private static void threads() throws InterruptedException {
    Set<Boolean> answers = ConcurrentHashMap.newKeySet();
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> answers.add(NativeLibrary.isLoaded()));
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("answers=" + answers.size() + " loaded=" + answers);
  }
}
