"""Results out: tables for people, JSON, CSV and Markdown for machines and documents. The only room with colours."""
