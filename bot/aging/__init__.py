"""Documents that grow old: changed since they helped, flagged, past their date, contradicting."""
