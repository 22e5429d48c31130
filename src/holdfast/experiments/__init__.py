"""The paper's figures, its claims and users' own studies."""
