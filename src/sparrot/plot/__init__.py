"""Results -> figures; nothing is computed here."""
