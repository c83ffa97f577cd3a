"""Results -> one HTML page that needs no other file and no network; nothing is solved here."""

from sparrot.report._page import write_report

__all__ = [
    "write_report",
]
