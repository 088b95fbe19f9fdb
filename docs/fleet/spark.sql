-- The tables in the folder `fleet`, for Spark. `budgets.csv` has the columns service and peak_bytes.
SET spark.sql.sources.partitionColumnTypeInference.enabled = false;
CREATE TEMPORARY VIEW recordings USING parquet
    OPTIONS (path 'fleet', pathGlobFilter 'recordings-*.parquet');
CREATE TEMPORARY VIEW samples USING parquet
    OPTIONS (path 'fleet', pathGlobFilter 'samples-*.parquet');
CREATE TEMPORARY VIEW phases USING parquet
    OPTIONS (path 'fleet', pathGlobFilter 'phases-*.parquet');
CREATE TEMPORARY VIEW stacks USING parquet
    OPTIONS (path 'fleet', pathGlobFilter 'stacks-*.parquet');
CREATE TEMPORARY VIEW budgets (service STRING, peak_bytes BIGINT) USING csv
    OPTIONS (path 'budgets.csv', header true);
