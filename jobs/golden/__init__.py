"""Golden sets: read, checked, imported, proposed."""
