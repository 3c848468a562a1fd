"""The search track: rewritten web sources against a retrieve-then-generate search engine (Counter-GEO-Bench)."""
