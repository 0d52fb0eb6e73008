"""Reads and writes Delta tables as Spark does. It answers one request a line:

    {"read": FOLDER}    the rows, as rows.py gives them
    {"sql": TEXT}       a statement, as INSERT INTO delta.`FOLDER` VALUES …"""

import glob
import json
import os
import sys

from pyspark.sql import SparkSession

import deltatext

# Where make puts the jars of spark-pom.xml.
JARS = os.path.join(sys.prefix, "jars", "*.jar")


def session():
    settings = {
        "spark.jars": ",".join(sorted(glob.glob(JARS))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def answer(spark, request):
    if "sql" in request:
        spark.sql(request["sql"]).collect()
        return {"rows": []}
    rows = spark.read.format("delta").load(request["read"]).collect()
    return {"rows": deltatext.lines(r.asDict(recursive=True) for r in rows)}


def main():
    spark = session()
    for line in sys.stdin:
        try:
            reply = answer(spark, json.loads(line))
        except Exception as e:  # whatever went wrong is the test's to tell
            reply = {"error": f"{type(e).__name__}: {str(e)[:1000]}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
