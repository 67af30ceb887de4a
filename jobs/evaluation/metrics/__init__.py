"""What can be measured of a reply without a judge, and intervals."""
