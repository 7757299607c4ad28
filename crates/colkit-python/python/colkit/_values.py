"""Dates and times as Python's own objects. What those cannot hold exactly (years beyond 9999, nanoseconds) stays a number or a
text rather than being rounded."""

from __future__ import annotations

import datetime
from typing import Any

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS = 24 * 60 * 60
_UNITS: Any = {1: "s", 1_000: "ms", 1_000_000: "us", 1_000_000_000: "ns"}


def date(days: int) -> Any:
    ordinal = _EPOCH + days
    return datetime.date.fromordinal(ordinal) if 0 < ordinal <= datetime.date.max.toordinal() else days


def timestamp(ticks: int, per_second: int, zone: str | None) -> Any:
    seconds, rest = divmod(ticks, per_second)
    micros, lost = divmod(rest * 1_000_000, per_second)
    if lost:
        return _exact(ticks, per_second, zone)
    try:
        value = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        return _exact(ticks, per_second, zone)
    return value if zone is None else value.replace(tzinfo=datetime.timezone.utc).astimezone(_zone(zone))


def _exact(ticks: int, per_second: int, zone: str | None) -> Any:
    """Nanoseconds as pandas' Timestamp if it is there, as pyarrow does; otherwise the number of ticks."""
    try:
        import pandas

        return pandas.Timestamp(ticks, unit=_UNITS[per_second], tz=zone)
    except (ImportError, ValueError, OverflowError):
        return ticks


def _zone(name: str) -> datetime.tzinfo:
    if name[:1] in "+-" and len(name) == 6:
        sign = -1 if name[0] == "-" else 1
        return datetime.timezone(sign * datetime.timedelta(hours=int(name[1:3]), minutes=int(name[4:6])))
    if name in ("UTC", "Z"):
        return datetime.timezone.utc
    import zoneinfo

    return zoneinfo.ZoneInfo(name)


def time(ticks: int, per_second: int) -> Any:
    seconds, rest = divmod(ticks, per_second)
    micros, lost = divmod(rest * 1_000_000, per_second)
    if lost or not 0 <= seconds < _SECONDS:
        return ticks
    return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


def duration(ticks: int, per_second: int) -> Any:
    seconds, rest = divmod(ticks, per_second)
    micros, lost = divmod(rest * 1_000_000, per_second)
    if lost:
        try:
            import pandas

            return pandas.Timedelta(ticks, unit=_UNITS[per_second])
        except (ImportError, ValueError, OverflowError):
            return ticks
    try:
        return datetime.timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        return ticks


def days_of(values: list[Any]) -> list[int | None] | None:
    """Dates as days since 1970, or None if something else is among them."""
    if not all(value is None or type(value) is datetime.date for value in values):
        return None
    return [None if value is None else value.toordinal() - _EPOCH for value in values]


def naive_micros_of(values: list[Any]) -> list[int | None] | None:
    """Moments without a time zone as microseconds since 1970, or None if something else is among them."""
    if not all(value is None or isinstance(value, datetime.datetime) and value.tzinfo is None for value in values):
        return None
    start = datetime.datetime(1970, 1, 1)
    return [None if value is None else (value - start) // _MICROSECOND for value in values]


def utc_micros_of(values: list[Any]) -> list[int | None] | None:
    """The same for moments with a time zone."""
    if not all(value is None or isinstance(value, datetime.datetime) and value.tzinfo is not None for value in values):
        return None
    start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return [None if value is None else (value - start) // _MICROSECOND for value in values]


_MICROSECOND = datetime.timedelta(microseconds=1)
