"""The evaluation report and the scoring sheet, as HTML."""
