"""Golden questions, replayed: before a new index is answered from, and before an edit is merged."""
