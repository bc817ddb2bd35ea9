"""Pictures of a run: what they show as rows, and how it is drawn as Vega-Lite.

Each kind has a module here that makes its rows from a run's records, and one in ``chart`` that makes its Vega-Lite
specification, which holds no data: ``{"data": {"name": "rows"}}``. The specification and a figure's ``datasets``
together are a picture, in ``report.html`` as in a file (``picture_file``). Only ``chart`` and ``drawing`` need the
extra ``report``.
"""
