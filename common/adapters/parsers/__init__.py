"""One module per kind of file: bytes to documents."""
