-- The tables in the folder `fleet`, for DuckDB. `budgets.csv` has the columns service and peak_bytes.
CREATE VIEW recordings AS SELECT * FROM read_parquet('fleet/*/*/recordings-*.parquet',
    hive_partitioning = true, hive_types = {'date': DATE, 'service': VARCHAR});
CREATE VIEW samples AS SELECT * FROM read_parquet('fleet/*/*/samples-*.parquet',
    hive_partitioning = true, hive_types = {'date': DATE, 'service': VARCHAR});
CREATE VIEW phases AS SELECT * FROM read_parquet('fleet/*/*/phases-*.parquet',
    hive_partitioning = true, hive_types = {'date': DATE, 'service': VARCHAR});
CREATE VIEW stacks AS SELECT * FROM read_parquet('fleet/*/*/stacks-*.parquet',
    hive_partitioning = true, hive_types = {'date': DATE, 'service': VARCHAR});
CREATE VIEW budgets AS SELECT * FROM read_csv('budgets.csv',
    header = true, columns = {'service': 'VARCHAR', 'peak_bytes': 'BIGINT'});
