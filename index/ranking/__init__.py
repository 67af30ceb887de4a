"""Rankings, their fusion, and a second look at the best."""
