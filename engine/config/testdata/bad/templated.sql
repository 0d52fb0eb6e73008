SELECT *
FROM raw WHERE dt = {{ dt }}
