"""The judge of answers: its input, its verdict, and corrections by people."""
