package org.apache.comet

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import org.apache.spark.CometPlugin
import org.scalatest.funsuite.AnyFunSuite

/** Loading, each case in a JVM of its own: a process loads the library only once. */
class NativeLibrarySuite extends AnyFunSuite {

  /** Runs [[LoadProbe]] with these JVM options; answers its exit code, its output, and what it left in its tmp. */
  private def probe(options: String*)(arguments: String*): (Int, String, Seq[String]) = {
    val tmp = Files.createTempDirectory("probe-")
    try {
      val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
      val command = Seq(java, "-cp", System.getProperty("java.class.path"), s"-Djava.io.tmpdir=$tmp", "-Xmx256m",
        "-Dlog4j2.configurationFile=probe-log4j2.properties") ++
        options ++ Seq(classOf[LoadProbe].getName) ++ arguments
      val log = tmp.resolve("output")
      val process = new ProcessBuilder(command.asJava).redirectErrorStream(true).redirectOutput(log.toFile).start()
      assert(process.waitFor(60, TimeUnit.SECONDS), "the probe hangs")
      val output = new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
      val left = tmp.toFile.list().toSeq.filterNot(name => name == "output" || name.startsWith("hsperfdata"))
      (process.exitValue(), output, left)
    } finally tmp.toFile.listFiles().foreach(_.delete())
  }

  private def warnings(output: String): Int = "native library could not be loaded".r.findAllIn(output).size

  test("the library in the jar loads in under 100 ms and leaves no file") {
    // The best of a few: the first finds cold caches.
    val millis = (1 to 5).iterator.map { _ =>
      val (code, output, left) = probe()("false")
      assert(code == 0, output)
      assert(output.contains("loaded=true again=true"), output)
      assert(left.isEmpty)
      "millis=(\\d+)".r.findFirstMatchIn(output).get.group(1).toInt
    }
    assert(millis.exists(_ < 100))
  }

  test("a library that is none: one warning, and Spark alone") {
    val (code, output, left) = probe("-Dorg.apache.comet.libraryPath=/nowhere/libhalley.so")("false")
    assert(code == 0, output)
    assert(output.contains("loaded=false"), output)
    assert(warnings(output) == 1, output)
    assert(left.isEmpty)
  }

  test("a library that is none, but required: an error that says why") {
    val (code, output, _) = probe("-Dorg.apache.comet.libraryPath=/nowhere/libhalley.so")("true")
    assert(code == 3, output)
    assert(output.contains("spark.comet.nativeLoadRequired") && output.contains("/nowhere/libhalley.so"), output)
  }

  test("a library of another version is refused") {
    NativeLibrary.checkVersion("1.2.3", "1.2.3")
    val error = intercept[UnsatisfiedLinkError](NativeLibrary.checkVersion("1.2.3", "1.2.4"))
    assert(error.getMessage == "the jar is version 1.2.3 but the library is version 1.2.4")
    assert(NativeLibrary.jarVersion().matches("\\d+\\.\\d+\\.\\d+.*"))
  }

  test("threads that load at once all get the same answer") {
    val (code, output, _) = probe()("threads")
    assert(code == 0, output)
    assert(output.contains("answers=1"), output)
  }

  test("the plug-in appends to what the user has configured") {
    assert(CometPlugin.appended(None, "a.B") == "a.B")
    assert(CometPlugin.appended(Some(" x.Y, z"), "a.B") == "x.Y,z,a.B")
    assert(CometPlugin.appended(Some("a.B,x.Y"), "a.B") == "a.B,x.Y")
  }
}
