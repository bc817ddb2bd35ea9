"""Vega-Lite specifications, made with Altair, without data and without colours: rows and themes come from beside here.

Only this package imports Altair, which is in the extra ``report``; ``specification`` is how others get at it.
"""
