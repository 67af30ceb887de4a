"""Reads Excel workbooks: sheets, cells, and numbers as they are shown."""
