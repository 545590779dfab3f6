package org.apache.comet

import java.util.{Collections, Locale, WeakHashMap}

import scala.collection.mutable

import org.apache.spark.internal.Logging
import org.apache.spark.network.util.{ByteUnit, JavaUtils}
import org.apache.spark.sql.internal.SQLConf

/** How the text of a key is read, and how a default is shown in the documentation. */
sealed abstract class ConfKind[T](val name: String) {
  def parse(text: String): T
  def show(value: T): String = value.toString
}

object ConfKind {
  private def fail(text: String, wanted: String): Nothing =
    throw new IllegalArgumentException(s"'$text' is not $wanted")

  val Bool: ConfKind[Boolean] = new ConfKind[Boolean]("boolean") {
    override def parse(text: String): Boolean = text.trim.toLowerCase(Locale.ROOT) match {
      case "true" => true
      case "false" => false
      case _ => fail(text, "true or false")
    }
  }

  val Int: ConfKind[Int] = new ConfKind[Int]("int") {
    override def parse(text: String): Int = text.trim.toIntOption.getOrElse(fail(text, "an integer"))
  }

  val Double: ConfKind[Double] = new ConfKind[Double]("double") {
    override def parse(text: String): Double = text.trim.toDoubleOption.getOrElse(fail(text, "a number"))
  }

  /** Bytes; a number without a unit counts in `unit`. */
  def bytes(unit: ByteUnit = ByteUnit.BYTE): ConfKind[Long] = new ConfKind[Long]("bytes") {
    override def parse(text: String): Long =
      try unit match {
        case ByteUnit.MiB => JavaUtils.byteStringAsMb(text) << 20
        case _ => JavaUtils.byteStringAsBytes(text)
      } catch { case _: NumberFormatException => fail(text, "a size such as 64m") }

    override def show(value: Long): String =
      if (value != 0 && value % (1L << 20) == 0) s"${value >> 20}m" else s"${value}b"
  }

  /** Bytes, which may be negative; None where the text is empty. */
  val OptionalBytes: ConfKind[Option[Long]] = new ConfKind[Option[Long]]("bytes") {
    override def parse(text: String): Option[Long] = {
      val sign = if (text.trim.startsWith("-")) -1 else 1
      if (text.trim.isEmpty) None
      else
        try Some(sign * JavaUtils.byteStringAsBytes(text.trim.stripPrefix("-")))
        catch { case _: NumberFormatException => fail(text, "a size such as 64m") }
    }
    override def show(value: Option[Long]): String = value.fold("")(_.toString)
  }

  val Millis: ConfKind[Long] = new ConfKind[Long]("duration") {
    override def parse(text: String): Long =
      try JavaUtils.timeStringAsMs(text)
      catch { case _: NumberFormatException => fail(text, "a duration such as 10s") }
    override def show(value: Long): String = s"${value}ms"
  }

  val Text: ConfKind[String] = new ConfKind[String]("string") {
    override def parse(text: String): String = text
  }

  /** A comma-separated list; blanks around its items do not count. */
  val TextList: ConfKind[Seq[String]] = new ConfKind[Seq[String]]("list") {
    override def parse(text: String): Seq[String] = text.split(",").toSeq.map(_.trim).filter(_.nonEmpty)
    override def show(value: Seq[String]): String = value.mkString(",")
  }

  /** One of a few words, in any case. */
  def choice(words: String*): ConfKind[String] = new ConfKind[String](words.mkString(" / ")) {
    override def parse(text: String): String = {
      val word = text.trim.toLowerCase(Locale.ROOT)
      if (words.contains(word)) word else fail(text, words.mkString("one of ", ", ", ""))
    }
  }
}

/** A heading of the configuration's documentation. */
sealed abstract class ConfSection(val title: String)

object ConfSection {
  case object Scan extends ConfSection("Scans and file formats")
  case object Execution extends ConfSection("Execution")
  case object Explain extends ConfSection("Seeing what runs natively, and why the rest does not")
  case object Shuffle extends ConfSection("Shuffle")
  case object Memory extends ConfSection("Memory and tuning")
  case object Development extends ConfSection("Development and testing")
  case object Operators extends ConfSection("Operators, one by one")
  val all: Seq[ConfSection] = Seq(Scan, Execution, Explain, Shuffle, Memory, Development, Operators)
}

/**
 * One key. A value is looked for under the key itself, then under its older spellings, then in the environment
 * variable, and is the default otherwise.
 *
 * @param works false where the key is accepted, so that a job that sets it runs, but changes nothing
 */
final case class ConfEntry[T](
    key: String,
    section: ConfSection,
    kind: ConfKind[T],
    default: T,
    doc: String,
    works: Boolean,
    older: Seq[String],
    env: Option[String]
) {
  def defaultText: String = kind.show(default)

  def get(conf: SQLConf): T = get(k => Option(conf.getConfString(k, null)), older => ConfEntry.warnOlder(conf, older, key))

  def get(): T = get(SQLConf.get)

  /** As [[get]], from anything that has settings; `usedOlder` hears of an older spelling that gave the value. */
  def get(lookup: String => Option[String], usedOlder: String => Unit = _ => ()): T = {
    val found = lookup(key).map(key -> _).orElse {
      older.iterator.flatMap(o => lookup(o).map(o -> _)).nextOption().map { case (name, text) =>
        usedOlder(name)
        name -> text
      }
    }.orElse(env.flatMap(name => Option(System.getenv(name)).map(name -> _)))
    found match {
      case None => default
      case Some((name, text)) =>
        try kind.parse(text)
        catch {
          case e: IllegalArgumentException => throw new IllegalArgumentException(s"$name: ${e.getMessage}", e)
        }
    }
  }
}

object ConfEntry extends Logging {
  // By session (its configuration object), so that each hears of an older spelling once. Weak: sessions come and go.
  private val warned = Collections.synchronizedMap(new WeakHashMap[SQLConf, mutable.Set[String]]())

  private def warnOlder(conf: SQLConf, older: String, key: String): Unit = {
    val first = warned.synchronized {
      warned.computeIfAbsent(conf, _ => mutable.Set.empty[String]).add(older)
    }
    if (first) logWarning(s"$older is an older name of $key; it works, but please use the newer one")
  }
}
