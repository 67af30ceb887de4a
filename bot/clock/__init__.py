"""What happens at a time: timers that survive restarts, handed to the inbox once each."""
