"""The answerer judges what it reads, and asks for what is missing."""
