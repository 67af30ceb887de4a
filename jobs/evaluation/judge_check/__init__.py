"""The judge's own report card: people's scores beside its own."""
