"""Drawing and pages from plain data and result tables; knows nothing of the paper.

A chart is data (`charts`), drawn by matplotlib (`drawing`) or put on a page (`parts`, `page`):

    chart = result_chart({"": result.frame})                     # or LineChart of Panels of Lines
    write_images(chart, folder, "costs", title="Costs")          # PNG, SVG and PDF
    write_page("costs.html", title="Costs", lead="What was measured.", opening=[line_chart(chart, "costs")],
               sections=[Section("Numbers", [table(columns, rows)])])

Any matplotlib axes: ``draw_panel(axes, chart.rows[0].panels[0], looks(chart.series))``.
"""

from holdfast.report.charts import ChartRow, HeatMap, Line, LineChart, Panel, Ribbon, chart_row, one_panel, result_chart
from holdfast.report.drawing import draw_chart, draw_panel, rendered, write_images
from holdfast.report.html_parts import Column, heat_map, line_chart, ribbon, table
from holdfast.report.page import Section, page, write_page
from holdfast.report.palette import Look, looks

__all__ = [
    "ChartRow",
    "Column",
    "HeatMap",
    "Line",
    "LineChart",
    "Look",
    "Panel",
    "Ribbon",
    "Section",
    "chart_row",
    "draw_chart",
    "draw_panel",
    "heat_map",
    "line_chart",
    "looks",
    "one_panel",
    "page",
    "rendered",
    "result_chart",
    "ribbon",
    "table",
    "write_images",
    "write_page",
]
