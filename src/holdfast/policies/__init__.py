"""The policies: one family per file, all behind the protocol of `holdfast.policies.policy`."""
