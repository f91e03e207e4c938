"""From what was counted to a rate and how well it is known: pure numpy."""
