"""Drawing and pages from plain data and result tables; knows nothing of the paper.

A chart is data (`charts`), drawn by matplotlib (`drawing`) or put on a page (`html`):

    chart = result_chart({"": result.frame})                     # or LineChart of Panels of Lines
    write_images(chart, folder, "costs", title="Costs")          # PNG, SVG and PDF
    text = page(title="Costs", lead="What was measured.", opening=[line_chart(chart, "costs")],
                sections=[Section("Numbers", [table(columns, rows)])])

Any matplotlib axes: ``draw_panel(axes, chart.rows[0].panels[0], looks(chart.series))``.
"""
