-- The versions that made a service worse: bytes live at the peak, on average for each recording,
-- compared with the version that was first seen before it. `owner` is the function that grew most.
-- Recordings without the label version are left out.
WITH versions AS (
    SELECT service, version, MIN(started_at) AS first_seen, COUNT(*) AS recordings,
        AVG(peak_bytes) AS mean_bytes
    FROM recordings WHERE version IS NOT NULL
    GROUP BY service, version
),
steps AS (
    SELECT service, version, recordings, mean_bytes,
        LAG(version) OVER (PARTITION BY service ORDER BY first_seen, version) AS old_version,
        LAG(recordings) OVER (PARTITION BY service ORDER BY first_seen, version) AS old_recordings,
        LAG(mean_bytes) OVER (PARTITION BY service ORDER BY first_seen, version) AS old_mean_bytes
    FROM versions
),
worse AS (
    SELECT * FROM steps WHERE mean_bytes > old_mean_bytes
),
owned AS (
    SELECT service, version, owner, SUM(peak_bytes) AS bytes
    FROM samples WHERE version IS NOT NULL
    GROUP BY service, version, owner
),
owners AS (
    SELECT worse.service, worse.version, new.owner,
        new.bytes / worse.recordings - COALESCE(old.bytes, 0) / worse.old_recordings AS growth,
        ROW_NUMBER() OVER (
            PARTITION BY worse.service, worse.version
            ORDER BY new.bytes / worse.recordings
                - COALESCE(old.bytes, 0) / worse.old_recordings DESC, new.owner
        ) AS place
    FROM worse
    JOIN owned AS new ON new.service = worse.service AND new.version = worse.version
    LEFT JOIN owned AS old ON old.service = worse.service AND old.version = worse.old_version
        AND old.owner = new.owner
)
SELECT worse.service, old_version, worse.version,
    CAST(ROUND(old_mean_bytes) AS BIGINT) AS old_mean_bytes,
    CAST(ROUND(mean_bytes) AS BIGINT) AS mean_bytes,
    CAST(ROUND(mean_bytes - old_mean_bytes) AS BIGINT) AS growth_bytes,
    owners.owner, CAST(ROUND(owners.growth) AS BIGINT) AS owner_growth_bytes
FROM worse
LEFT JOIN owners ON owners.service = worse.service AND owners.version = worse.version
    AND owners.place = 1
ORDER BY growth_bytes DESC, worse.service, worse.version
LIMIT 20;
