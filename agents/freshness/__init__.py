"""Documents that changed, expired or were superseded since they were cited."""
