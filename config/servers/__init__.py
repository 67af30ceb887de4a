"""What model servers differ in: what they refuse, how they think aloud, how their streams end."""
