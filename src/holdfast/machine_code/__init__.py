"""Machine code on disk as a user sees it: what is kept, and what can be compiled beforehand."""
