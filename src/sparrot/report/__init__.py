"""Results -> one page of HTML that needs nothing else; nothing is computed here."""

from sparrot.report._write import render, write_report

__all__ = [
    "render",
    "write_report",
]
