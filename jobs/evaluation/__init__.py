"""Golden questions asked, measured, judged, compared: one report."""
