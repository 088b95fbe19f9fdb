-- The functions that own most bytes at the peak in the last seven days, up to five of each service:
-- on average for each recording of the service, and their share of its peak.
WITH latest AS (
    SELECT MAX(CAST(date AS DATE)) AS day FROM recordings
),
recent AS (
    SELECT recording, service, peak_bytes
    FROM recordings CROSS JOIN latest
    WHERE CAST(date AS DATE) > day - INTERVAL '7' DAY
),
services AS (
    SELECT service, COUNT(*) AS recordings, SUM(peak_bytes) AS bytes
    FROM recent GROUP BY service
),
owned AS (
    SELECT recent.service, samples.owner, SUM(samples.peak_bytes) AS bytes
    FROM samples JOIN recent ON samples.recording = recent.recording
    GROUP BY recent.service, samples.owner
),
ranked AS (
    SELECT service, owner, bytes,
        ROW_NUMBER() OVER (PARTITION BY service ORDER BY bytes DESC, owner) AS place
    FROM owned
)
SELECT ranked.service, place, owner,
    CAST(ROUND(ranked.bytes / recordings) AS BIGINT) AS mean_bytes,
    CAST(ROUND(100 * ranked.bytes / services.bytes) AS BIGINT) AS percent
FROM ranked JOIN services ON services.service = ranked.service
WHERE place <= 5 AND ranked.bytes > 0
ORDER BY services.bytes / recordings DESC, ranked.service, place;
