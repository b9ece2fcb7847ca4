"""Structures: parent sets as columns of a program."""
