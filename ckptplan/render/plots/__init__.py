"""Pictures of results: matplotlib's ``Figure`` without pyplot, without a display and without global state.

Each kind of picture is a function ``NAME_figure(result, ..., theme) -> Figure`` in a file of its own; ``theme`` is one
of `ckptplan.render.plots.style.THEMES`. What is drawn is 8 inches wide, as a page shows it at 800 pixels.

- ``curve.curve_figure(plan, curve, theme)``, ``breakdown.breakdown_figure(plan, theme)``, and both in one:
  ``optimize.optimize_figure(plan, curve, theme)``; the curve is `ckptplan.plan.curve.goodput_curve(scenario, plan)`
- ``scale.scale_figure(scaling, lines, theme)``, ``simulation.simulation_figure(simulation, theme)``
- ``survival.survival_figure(fitted, theme)``, ``tornado.tornado_figure(levers, theme)``
- ``sweep.sweep_figure(study, columns, theme)``

``saving.svg_text(figure) -> str`` is an ``<svg>`` element to embed, with the figure's words as its alternative text;
``saving.svg_bytes`` and ``saving.png_bytes`` are files.
"""
