package org.apache.spark

import java.util.{Collections, Map => JMap}

import org.apache.comet.NativeLibrary
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}

/**
 * What a user names in `spark.plugins`. It adds the session extensions and the EXPLAIN provider to the
 * application's configuration, and loads the native library on the driver and on each executor.
 *
 * In Spark's package because only there the context's configuration can still be written.
 */
class CometPlugin extends SparkPlugin with Logging {
  override def driverPlugin(): DriverPlugin = new CometDriverPlugin
  override def executorPlugin(): ExecutorPlugin = new CometExecutorPlugin
}

object CometPlugin {
  val ExtensionsClass = "org.apache.comet.CometSparkSessionExtensions"
  val ExplainProviderClass = "org.apache.comet.ExtendedExplainInfo"
  val LoadRequiredKey = "spark.comet.nativeLoadRequired"

  /** `value` at the end of a comma-separated list, unless it is there already. */
  def appended(list: Option[String], value: String): String = {
    val present = list.toSeq.flatMap(_.split(",")).map(_.trim).filter(_.nonEmpty)
    (if (present.contains(value)) present else present :+ value).mkString(",")
  }
}

private class CometDriverPlugin extends DriverPlugin with Logging {
  import CometPlugin._

  override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
    Seq(
      StaticSQLConf.SPARK_SESSION_EXTENSIONS.key -> ExtensionsClass,
      SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> ExplainProviderClass
    ).foreach { case (key, value) => sc.conf.set(key, appended(sc.conf.getOption(key), value)) }

    if (sc.conf.getBoolean("spark.comet.enabled", defaultValue = true)) {
      NativeLibrary.load(sc.conf.getBoolean(LoadRequiredKey, defaultValue = false))
    }
    Collections.emptyMap[String, String]()
  }
}

private class CometExecutorPlugin extends ExecutorPlugin with Logging {
  import CometPlugin._

  override def init(context: PluginContext, extra: JMap[String, String]): Unit = {
    // Here and not at the first task: a task should not pay for it, and the warning belongs to the start.
    if (context.conf.getBoolean("spark.comet.enabled", defaultValue = true)) {
      NativeLibrary.load(context.conf.getBoolean(LoadRequiredKey, defaultValue = false))
    }
  }
}
