"""Which value a question asks for: the cell of a table, the item of a list, and of what kind."""
