-- The fields that grew since last week, over all hosts. Compares the last seven days of the data
-- with the seven days before: bytes live at the peak, on average for each recording of the service.
-- A field that a recording does not have counts as 0 bytes there.
WITH latest AS (
    SELECT MAX(CAST(date AS DATE)) AS day FROM recordings
),
weeks AS (
    SELECT recording, service,
        CASE WHEN CAST(date AS DATE) > day - INTERVAL '7' DAY THEN 1 ELSE 0 END AS is_new
    FROM recordings CROSS JOIN latest
    WHERE CAST(date AS DATE) > day - INTERVAL '14' DAY
),
counts AS (
    SELECT service, SUM(is_new) AS new_recordings, SUM(1 - is_new) AS old_recordings
    FROM weeks GROUP BY service
),
sums AS (
    SELECT weeks.service, samples.field, COUNT(DISTINCT samples.host) AS hosts,
        SUM(CASE WHEN is_new = 1 THEN samples.peak_bytes ELSE 0 END) AS new_bytes,
        SUM(CASE WHEN is_new = 0 THEN samples.peak_bytes ELSE 0 END) AS old_bytes
    FROM samples JOIN weeks ON samples.recording = weeks.recording
    WHERE samples.field IS NOT NULL
    GROUP BY weeks.service, samples.field
),
means AS (
    SELECT sums.service, field, hosts,
        CAST(ROUND(old_bytes / old_recordings) AS BIGINT) AS old_mean_bytes,
        CAST(ROUND(new_bytes / new_recordings) AS BIGINT) AS new_mean_bytes
    FROM sums JOIN counts ON sums.service = counts.service
    WHERE old_recordings > 0 AND new_recordings > 0
)
SELECT service, field, hosts, old_mean_bytes, new_mean_bytes,
    new_mean_bytes - old_mean_bytes AS growth_bytes
FROM means
WHERE new_mean_bytes > old_mean_bytes
ORDER BY growth_bytes DESC, service, field
LIMIT 20;
