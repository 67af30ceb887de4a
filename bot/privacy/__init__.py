"""Personal data: retention, export and erasure."""
