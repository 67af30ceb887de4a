"""What the product tells of itself: logs, metrics, traces."""
