"""Where everything durable lives: the connection, the statements by name, and cells as rows.

SQL stands in named files per dialect under ``sql/``; nothing outside this package writes any.
"""
