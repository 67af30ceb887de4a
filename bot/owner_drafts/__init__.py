"""What is suggested to the owners of documents: a draft for each, decided by a human."""
