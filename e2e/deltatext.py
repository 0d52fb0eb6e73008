"""Rows as lines of JSON with sorted keys: every value as text, NULL as null."""

import json


def text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, dict, tuple)):
        return json.loads(json.dumps(value, default=text, ensure_ascii=False))
    return json.dumps(value) if isinstance(value, bool) else str(value)


def lines(rows):
    return sorted(json.dumps({k: text(v) for k, v in row.items()}, sort_keys=True, ensure_ascii=False) for row in rows)
