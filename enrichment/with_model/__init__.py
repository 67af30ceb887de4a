"""What a language model adds, each call verified, cached and paid for once."""
