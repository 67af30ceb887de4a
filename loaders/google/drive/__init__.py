"""Lists Drive, follows its changes and reads its permissions."""
