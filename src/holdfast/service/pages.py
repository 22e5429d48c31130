"""The page."""
from holdfast.service.api import Operation
OPERATIONS: list[Operation] = []
