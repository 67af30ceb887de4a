"""What is open when a shift begins, told once to whoever has it or to the channel."""
