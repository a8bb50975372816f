"""One reader a form of source, chosen by content: plain text, and structured files."""
