"""What changed before an alert: messages of change channels and edited documents, by name."""
