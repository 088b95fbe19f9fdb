-- The services with recordings of the last seven days whose peak was above their budget. A sampled
-- recording counts only if its whole interval is above the budget.
WITH latest AS (
    SELECT MAX(CAST(date AS DATE)) AS day FROM recordings
),
judged AS (
    SELECT recordings.service, recordings.host, recordings.peak_bytes,
        budgets.peak_bytes AS budget_bytes,
        CASE WHEN COALESCE(recordings.peak_bytes_low, recordings.peak_bytes) > budgets.peak_bytes
            THEN 1 ELSE 0 END AS is_above
    FROM recordings CROSS JOIN latest JOIN budgets ON budgets.service = recordings.service
    WHERE CAST(recordings.date AS DATE) > day - INTERVAL '7' DAY
)
SELECT service, budget_bytes, SUM(is_above) AS above, COUNT(*) AS recordings,
    COUNT(DISTINCT CASE WHEN is_above = 1 THEN host END) AS hosts,
    MAX(peak_bytes) AS largest_peak_bytes
FROM judged
GROUP BY service, budget_bytes
HAVING SUM(is_above) > 0
ORDER BY largest_peak_bytes - budget_bytes DESC, service;
