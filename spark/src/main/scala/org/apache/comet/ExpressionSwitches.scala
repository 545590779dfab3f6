package org.apache.comet

import org.apache.spark.sql.internal.SQLConf

/**
 * `spark.comet.expression.<Class>.enabled`: false keeps an expression out of native plans altogether. It is then
 * neither evaluated in C nor handed to Spark's own code from there, so its operator is left to Spark.
 */
object ExpressionSwitches {
  def key(cls: String): String = s"spark.comet.expression.$cls.enabled"

  /** Any class name works, also one that is not in [[documented]]. */
  def isEnabled(conf: SQLConf, cls: String): Boolean =
    conf.getConfString(key(cls), "true").trim.toLowerCase(java.util.Locale.ROOT) != "false"

  /** The classes that the documentation lists: those people have switches for in their jobs. */
  val documented: Seq[String] = """
    Abs Acos Acosh Add AddMonths Alias And ApplyFunctionExpression ApproximatePercentile ArrayAggregate
    ArrayAppend ArrayContains ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayInsert
    ArrayIntersect ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayRemove ArrayRepeat ArraySort
    ArrayTransform ArrayUnion ArraysOverlap ArraysZip Ascii Asin Asinh Atan Atan2 Atanh AttributeReference
    Average BRound Base64 Bin BitAndAgg BitLength BitOrAgg BitXorAgg BitwiseAnd BitwiseCount BitwiseGet
    BitwiseNot BitwiseOr BitwiseXor BloomFilterAggregate BloomFilterMightContain CaseWhen Cast Cbrt Ceil
    CheckOverflow Chr Coalesce CollectList CollectSet Concat ConcatWs Contains Conv ConvertTimezone Corr Cos
    Cosh Cot Count CovPopulation CovSample Crc32 CreateArray CreateMap CreateNamedStruct Csc CsvToStructs
    DateAdd DateDiff DateFormatClass DateFromUnixDate DateSub DayOfMonth DayOfWeek DayOfYear Days Divide
    ElementAt Elt Empty2Null EndsWith EqualNullSafe EqualTo Exp Expm1 Factorial FindInSet First Flatten
    Floor FormatNumber FormatString FromUTCTimestamp FromUnixTime GetArrayItem GetArrayStructFields
    GetJsonObject GetMapValue GetStructField GetTimestamp GreaterThan GreaterThanOrEqual Greatest Hex Hour
    Hours HyperLogLogPlusPlus Hypot If In InSet InitCap IntegralDivide Invoke IsNaN IsNotNull IsNull
    JsonObjectKeys JsonToStructs KnownFloatingPointNormalized KnownNotNull KnownNullable Last LastDay Least
    Left Length LengthOfJsonArray LessThan LessThanOrEqual Levenshtein Like ListAgg Literal Log Log10 Log1p
    Log2 Logarithm Lower MakeDTInterval MakeDate MakeDecimal MakeInterval MakeTimestamp MakeYMInterval
    MapConcat MapEntries MapFilter MapFromArrays MapFromEntries MapKeys MapSort MapValues MapZipWith Mask
    Max MaxBy Md5 MicrosToTimestamp MillisToTimestamp Min MinBy Minute Mode MonotonicallyIncreasingID Month
    MonthsBetween Multiply MultiplyDTInterval Murmur3Hash NaNvl NextDay Not OctetLength Or Overlay ParseUrl
    Percentile Pi Pmod Pow PreciseTimestampConversion Quarter RLike Rand RandStr Randn RegExpExtract
    RegExpExtractAll RegExpInStr RegExpReplace RegrIntercept RegrR2 RegrReplacement RegrSXY RegrSlope
    Remainder Reverse Right Rint Round ScalaUDF ScalarSubquery SchemaOfCsv SchemaOfJson Sec Second
    SecondsToTimestamp Sequence Sha1 Sha2 ShiftLeft ShiftRight ShiftRightUnsigned Shuffle Signum Sin Sinh
    Size Slice SortArray SortOrder SoundEx SparkPartitionID Sqrt StartsWith StaticInvoke StddevPop
    StddevSamp StringInstr StringLPad StringLocate StringRPad StringRepeat StringReplace StringSpace
    StringSplit StringToMap StringTranslate StringTrim StringTrimLeft StringTrimRight StructsToCsv
    StructsToJson Substring SubstringIndex Subtract Sum Tan Tanh TimestampAdd TimestampDiff ToCharacter
    ToDegrees ToNumber ToPrettyString ToRadians ToUTCTimestamp ToUnixTimestamp TransformKeys TransformValues
    TruncDate TruncTimestamp TryEval TryToNumber UnBase64 UnaryMinus UnaryPositive Unhex UnixDate UnixMicros
    UnixMillis UnixSeconds UnixTimestamp UnscaledValue Upper Uuid VariancePop VarianceSamp WeekDay
    WeekOfYear WidthBucket XPathBoolean XPathDouble XPathFloat XPathInt XPathList XPathLong XPathShort
    XPathString XxHash64 Year ZipWith
  """.trim.split("\\s+").toSeq
}
