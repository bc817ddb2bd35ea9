"""Parts of the book that are made from the code: JSON Schemas, tables of the files' fields, the command's help.

``scripts/schemas`` writes them; a test says when they are not those of the code.
"""
