"""Documents on their way from their source to the index, in this process or in others."""
