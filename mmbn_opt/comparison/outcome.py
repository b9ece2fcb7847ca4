"""What became of one run of a comparison: an enum with a sentence each, beside the solver's own status."""

from mmbn_opt.status import _Described

__all__ = ["RunOutcome"]


class RunOutcome(_Described):
    """What became of the process of one run.

    Examples
    --------
    >>> RunOutcome.HUNG.sentence
    'The run did not end within the budget and the grace and was killed.'
    """

    ANSWERED = ("ANSWERED", "The run ended by itself; its termination status says why.")
    REFUSED = ("REFUSED", "The solver or the formulation refused the problem and said why.")
    RAISED = ("RAISED", "The run ended with an error; its text is kept.")
    CRASHED = ("CRASHED", "The process of the run died.")
    HUNG = ("HUNG", "The run did not end within the budget and the grace and was killed.")
    OUT_OF_MEMORY = ("OUT_OF_MEMORY", "The run used more memory than it was given and was ended.")
