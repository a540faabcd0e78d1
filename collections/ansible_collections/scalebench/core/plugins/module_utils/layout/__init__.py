"""What reports are made of: rows, tables, sections, text that is fit to be shown."""
