"""Defences of the search track: guards that drop chunks, checks that refuse answers, and what they cost."""
