"""Claims judged by measurement: comparisons, the rule that turns them into verdicts, and the size of a run."""
