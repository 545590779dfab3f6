package org.apache.comet;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Properties;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the native library that travels in the jar, once per process.
 *
 * <p>A library that does not load is no reason to fail a job: {@link #load} then warns once and
 * answers false for ever after, and Spark runs every plan itself. Where the user asked for an error
 * ({@code spark.comet.nativeLoadRequired=true}) it throws instead.
 */
public final class NativeLibrary {
  /** A developer's own build, instead of the one in the jar. */
  public static final String PATH_PROPERTY = "org.apache.comet.libraryPath";

  private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);
  private static final String PROPERTIES = "/org/apache/comet/halley.properties";

  // Both are written under the class's lock, `attempted` last; a true `attempted` publishes the other.
  private static Throwable failure;
  private static volatile boolean attempted;

  private NativeLibrary() {}

  /**
   * Loads the library unless that was tried before.
   *
   * @param required throw instead of answering false
   * @return whether the library is there and is of this jar's version
   */
  public static boolean load(boolean required) {
    if (!attempted) {
      attempt(required);
    }
    if (failure != null && required) {
      throw new IllegalStateException(
          "Halley's native library could not be loaded and spark.comet.nativeLoadRequired is true: "
              + reason(failure),
          failure);
    }
    return failure == null;
  }

  /** Whether the library is usable in this process; tries to load it, never throws. */
  public static boolean isLoaded() {
    return load(false);
  }

  /** Why the library is not usable, or null where it is. */
  public static String failureReason() {
    return isLoaded() ? null : reason(failure);
  }

  private static final class Version {
    static final String OF_JAR = readVersion();
  }

  /** The version of this jar. */
  public static String jarVersion() {
    return Version.OF_JAR;
  }

  private static String readVersion() {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(PROPERTIES)) {
      if (in == null) {
        throw new IllegalStateException("the jar lacks " + PROPERTIES);
      }
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new IllegalStateException("the jar's " + PROPERTIES + " cannot be read", e);
    }
  }

  /** The folder name of this machine's libraries in the jar, for example {@code linux-x86_64}. */
  static String platform() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(' ', '-');
    String arch = System.getProperty("os.arch");
    if (arch.equals("amd64") || arch.equals("x86-64")) {
      arch = "x86_64";
    }
    return os + "-" + arch;
  }

  private static synchronized void attempt(boolean required) {
    if (attempted) {
      return;
    }
    long start = System.nanoTime();
    try {
      String place = open();
      checkVersion(jarVersion(), Native.version());
      LOG.info("Halley {} loaded {} in {} ms", jarVersion(), place, (System.nanoTime() - start) / 1_000_000);
    } catch (IOException | LinkageError | RuntimeException e) {
      failure = e;
      if (!required) {
        LOG.warn("Halley's native library could not be loaded; Spark runs all plans itself. Reason: {}", reason(e));
        LOG.debug("Where loading failed", e);
      }
    }
    attempted = true;
  }

  private static String open() throws IOException {
    String own = System.getProperty(PATH_PROPERTY);
    if (own != null && !own.isEmpty()) {
      System.load(Path.of(own).toAbsolutePath().toString());
      return own;
    }
    String resource = "/org/apache/comet/native/" + platform() + "/libhalley.so";
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new UnsatisfiedLinkError("this jar has no library for " + platform());
      }
      // A name of its own each time: two executors on a host must not see each other's half-written file.
      Path file = Files.createTempFile("libhalley-", ".so");
      try {
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toString());
      } finally {
        // The mapping outlives the name, and a killed JVM leaves nothing behind.
        Files.deleteIfExists(file);
      }
    }
    return resource;
  }

  static void checkVersion(String jar, String library) {
    if (!jar.equals(library)) {
      throw new UnsatisfiedLinkError("the jar is version " + jar + " but the library is version " + library);
    }
  }

  private static String reason(Throwable e) {
    return e.getMessage() == null ? e.toString() : e.getMessage();
  }
}
