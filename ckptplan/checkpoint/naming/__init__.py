"""What a stored key is: parameter, moment, random-number state, by its path and the names of parameters."""
