package org.apache.spark.sql.comet

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

class MemoryLogSuite extends AnyFunSuite {
  private val key = "spark.comet.memory.logInterval"

  test("a line an interval while tasks run, one more after the last, and a warning beyond the container") {
    var tasks = Seq.empty[Long]
    var allocated = 0L
    val log = new MemoryLog(() => allocated, () => tasks, Some(1000))
    assert(log.line().isEmpty)
    tasks = Seq(100, 200)
    allocated = 500
    for (_ <- 1 to 2) {
      val (text, warns) = log.line().get
      assert(text.contains("500 bytes") && text.contains("300 ") && text.contains("2 tasks") && !warns)
    }
    allocated = 1001
    assert(log.line().exists(_._2))
    tasks = Nil
    allocated = 7
    assert(log.line().exists(_._1.contains("7 bytes")))
    assert(log.line().isEmpty)
    assert(new MemoryLog(() => Long.MaxValue, () => Seq(1L), None).line().exists(!_._2))
  }

  test("the interval: 0 and what cannot be read turn it off") {
    def of(text: String) = MemoryLog.intervalOf(new SparkConf(false).set(key, text))
    assert(MemoryLog.intervalOf(new SparkConf(false)).contains(10000))
    assert(of("2s").contains(2000))
    assert(of("0").isEmpty)
    assert(of("soon").isEmpty)
  }

  test("what a container leaves beside the heap") {
    val conf = new SparkConf(false).set("spark.master", "yarn").set("spark.executor.memory", "10g")
    assert(MemoryLog.containerBytes(conf).contains(1L << 30))
    conf.set("spark.executor.memoryOverhead", "2g").set("spark.memory.offHeap.enabled", "true").set("spark.memory.offHeap.size", "3g")
    assert(MemoryLog.containerBytes(conf).contains(5L << 30))
    assert(MemoryLog.containerBytes(new SparkConf(false).set("spark.master", "local[3]")).isEmpty)
  }
}
