SELECT *
FROM typed
WHERE dt = $dt
