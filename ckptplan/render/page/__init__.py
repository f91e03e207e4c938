"""The report that one sends: sections as plain data, and from them one HTML file or Markdown."""
