"""L0: the data that stages hand to each other. Standard library only; nothing here reads, prints or decides."""
