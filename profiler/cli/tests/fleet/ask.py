"""Asks DuckDB or Spark about the tables in the folder `fleet` of the current folder.

usage: ask.py duckdb|spark SETUP.sql QUERY.sql..

Prints a line of JSON for each query: its name, its rows, and the CPU time of this process, in which
DuckDB runs but Spark does not.
"""

import json
import sys
import time
from pathlib import Path


def statements(path):
    """The statements of a file, without comments."""
    lines = Path(path).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [one for one in text.split(";") if one.strip()]


def duckdb_engine():
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return lambda statement: connection.execute(statement).fetchall()


def spark_engine():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.log.level", "ERROR")
    session = builder.getOrCreate()
    return lambda statement: [tuple(row) for row in session.sql(statement).collect()]


engine, setup, *queries = sys.argv[1:]
ask = {"duckdb": duckdb_engine, "spark": spark_engine}[engine]()
for statement in statements(setup):
    ask(statement)
for query in queries:
    begin = time.process_time()
    rows = [row for statement in statements(query) for row in ask(statement)]
    seconds = round(time.process_time() - begin, 3)
    answer = {"query": Path(query).stem, "cpu_seconds": seconds, "rows": rows}
    print(json.dumps(answer, default=str))
