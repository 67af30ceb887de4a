"""Every source to one lossless `Document`."""
