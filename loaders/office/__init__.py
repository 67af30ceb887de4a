"""Files of Word, Excel and PowerPoint: their parts, and what is checked before one is parsed."""
