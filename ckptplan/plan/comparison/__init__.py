"""Two runs side by side: what differs, and which difference makes how much of the difference in goodput."""
