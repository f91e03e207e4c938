"""What storage and host memory of this machine really do: writes, reads and copies, timed."""
