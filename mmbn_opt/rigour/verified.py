"""What a verification says."""

from typing import NamedTuple

__all__ = ["Verified"]


class Verified(NamedTuple):
    """What was proved again, of an objective that is a maximum or, with `minimize`, a minimum.

    Parameters
    ----------
    statement : tuple of str
        The problem that it is about, and how the columns of the table are read.
    bound, claimed : float
        No structure of the class is worth more (no tables on the structure cost less); and what the file says.
    rounding : float
        At most by so much `bound` is above what the same multipliers give if nothing is rounded; of a minimum, by how
        much it is below `claimed`.
    value, value_error : float
        What the best structure (the tables) of the file is worth, from the data, and how far that may be off; -inf if
        it has none.
    records : int
    minimize : bool
    violation : float
        By how much the sum of a row of the tables may be above 1, or the logarithm of an entry below the floor.
    """

    statement: tuple[str, ...]
    bound: float
    claimed: float
    rounding: float
    value: float
    value_error: float
    records: int
    minimize: bool = False
    violation: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the bound is as strong as the file says, up to a billionth."""
        slack = 1e-9 * max(1.0, abs(self.claimed))
        return self.bound >= self.claimed - slack if self.minimize else self.bound <= self.claimed + slack

    @property
    def gap(self) -> float:
        """Distance of value and bound, as a share of the larger; 0 where they meet."""
        apart = max(0.0, self.value - self.bound if self.minimize else self.bound - self.value)
        return apart / max(abs(self.bound), abs(self.value) * self.minimize, 1e-300)
