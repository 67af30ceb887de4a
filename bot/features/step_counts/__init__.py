"""Steps of runbooks that people skip or report: suggested to the document's owner."""
