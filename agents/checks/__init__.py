"""What an answer claims, and whether the sources that it cites hold it up."""
