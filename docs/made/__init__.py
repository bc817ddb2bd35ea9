"""Parts of the book that are made from the code: JSON Schemas, and tables of the files' fields.

``scripts/schemas`` writes them; a test says when they are not those of the code.
"""
