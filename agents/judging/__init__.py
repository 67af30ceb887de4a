"""The judge of answers: what it is shown, what it says, what people taught it."""
