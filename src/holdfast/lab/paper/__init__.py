"""The paper's experiments: what is played (`plan`), what is claimed of it, the report, and `reproduce`."""
