"""What torch.save writes: zip archives and the older streams, with the place of every tensor in the file."""
