"""Writes the folder `catalogue`, in Parquet, of the files that paths.txt lists. Each part of the list is read by one `b2nd`."""

import shutil

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
paths = spark.sparkContext.textFile("paths.txt", minPartitions=8)
# Spark starts the command with an empty environment. The command is given by its full path, because PATH is not set.
lines = paths.pipe(shutil.which("b2nd") + " ls --json --unordered --files-from -")
rows = spark.read.json(
    lines,
    schema="""
      path string, member string, offset bigint, kind string, layout string,
      shape array<bigint>, chunks array<int>, blocks array<int>, dtype string, dtype_name string,
      nbytes bigint, stored_nbytes bigint, cbytes bigint, cratio double,
      codec string, clevel tinyint, filters array<string>,
      findings array<struct<code string, severity string>>,
      error struct<kind string, message string>
    """,
)
rows.write.parquet("catalogue")
