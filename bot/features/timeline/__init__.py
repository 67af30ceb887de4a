"""Timelines of incidents: who did what when, from what stands in a thread."""
