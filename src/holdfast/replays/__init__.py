"""What would it have cost? Recorded losses played again, and what hindsight could have saved."""
