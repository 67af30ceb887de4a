"""What is kept about people: for how long, handed out, erased."""
