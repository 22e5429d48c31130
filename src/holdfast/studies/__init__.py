"""A user's own experiments: a file that describes a study, the folder it is kept in, and how it is run."""
