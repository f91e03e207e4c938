"""Several tiers: the best pattern of saves over them, and what each tier is worth."""
