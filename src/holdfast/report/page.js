"use strict";
(() => {
  const touch = matchMedia("(pointer: coarse)").matches;
  const NARROW = "\u202f";

  // Plotly reads a label as a little HTML.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const digits = (value) => (Math.abs(value) >= 100 || value === 0 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const show = (value, places) =>
    value
      .toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })
      .replaceAll(",", NARROW)
      .replace("-", "−");
  const faint = (hex) => `${hex}2b`;

  // ---- one panel: state in, Plotly's traces and layout out ----

  const low = (line, i) => (line.spread ? line.y[i] - (line.spread[i] ?? 0) : line.low ? line.low[i] : line.y[i]);
  const high = (line, i) => (line.spread ? line.y[i] + (line.spread[i] ?? 0) : line.high ? line.high[i] : line.y[i]);

  function told(line, i) {
    const value = show(line.y[i], digits(line.y[i]));
    if (line.spread) return line.spread[i] === null ? value : `${value} ± ${show(line.spread[i], digits(line.y[i]))}`;
    return line.low ? `${value} (${show(line.low[i], digits(line.y[i]))} to ${show(line.high[i], digits(line.y[i]))})` : value;
  }

  // Where a log axis of values begins and ends. Along linear x all low values stand in one upright at the
  // left: the axis then begins just below where the lowest line ends.
  function logRange(shown, state) {
    const values = shown.flatMap((line) => (state.x === "log" || line.points ? line.y : line.y.slice(-1)))
      .filter((value) => value > 0);
    const top = Math.max(...shown.flatMap((line) => line.y.map((_, i) => high(line, i))));
    // A first loss of 0.01 must not squeeze all others.
    const bottom = Math.max(Math.min(...values) / (state.x === "log" ? 1.2 : 4), top * 1e-6);
    return values.length ? [Math.log10(bottom), Math.log10(top * 1.3)] : [0, 1];
  }

  function traces(chart, shown, log) {
    const drawn = [];
    for (const line of shown) {
      const look = chart.series[line.series];
      const colour = scheme.isDark() ? look.dark : look.light;
      const all = chart.x.lists[line.x];
      // A log axis has no place for zero and less, and no axis for what is no number.
      const kept = all.map((_, i) => i).filter((i) => line.y[i] !== null && (!log || line.y[i] > 0));
      const x = kept.map((i) => all[i]);
      if (line.spread || line.low) {
        const above = kept.map((i) => high(line, i));
        const below = kept.map((i) => Math.max(low(line, i), log ? line.y[i] / 1e3 : -Infinity));
        drawn.push({
          x: x.concat(x.toReversed()), y: above.concat(below.toReversed()),
          mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faint(colour), hoverinfo: "skip",
        });
      }
      drawn.push({
        x, y: kept.map((i) => line.y[i]), name: plain(look.label), mode: line.points ? "markers" : "lines+markers",
        line: { color: colour, width: 2, dash: look.dash },
        marker: line.points
          ? { color: colour, size: 10, symbol: look.symbol }
          : { color: colour, size: 6, symbol: look.symbol, maxdisplayed: 7 },
        text: kept.map((i) => told(line, i)),
        hovertemplate: "%{text}",
      });
    }
    return drawn;
  }

  function layout(chart, state, log, range, panel, plot) {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const ink = style("body").color;
    const quiet = style(".controls").color;
    const line = style(".plain").borderTopColor;
    const axis = {
      gridcolor: line, linecolor: quiet, zerolinecolor: line, tickcolor: line, tickfont: { color: quiet, size: 11 },
      tickformat: ",~f", nticks: 6, automargin: true, fixedrange: touch,
    };
    const decades = { type: "log", dtick: 1 };
    const along = chart.x.dated ? { type: "date", tickformat: "" } : state.x === "log" ? decades : { rangemode: "tozero" };
    // Fewer than two decades would have a tick or two.
    const short = range[1] - range[0] < 2 ? { dtick: "D2" } : {};
    return {
      width: plot.clientWidth, height: plot.clientHeight, margin: { l: 48, r: 14, t: 8, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style("body").fontFamily, size: 12, color: ink },
      separators: `.${NARROW}`, showlegend: false, hovermode: panel.lines.some((line) => line.points) ? "closest" : "x unified", dragmode: touch ? false : "zoom",
      // The box lies on the curves: let them show through a little.
      hoverlabel: {
        bgcolor: style("body").backgroundColor.replace("rgb(", "rgba(").replace(")", ", 0.93)"),
        bordercolor: line, font: { color: ink, size: 11 },
      },
      // A zoom lasts until the scale changes.
      uirevision: `${state.x} ${log}`,
      xaxis: {
        ...axis, ...along, showgrid: false, showline: true,
        title: { text: plain(chart.x.label), font: { size: 12, color: quiet }, standoff: 6 },
        unifiedhovertitle: { text: chart.x.dated ? "%{x}" : `${plain(chart.x.label)} %{x:,~f}` },
        showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "dot", spikecolor: quiet,
      },
      yaxis: { ...axis, ...(log ? { ...decades, ...short, range } : { rangemode: panel.fromZero ? "tozero" : "normal" }) },
    };
  }

  // ---- charts ----

  const redraws = [];

  function setUp(element) {
    const chart = JSON.parse(element.querySelector("script").textContent);
    const state = { hidden: new Set(), x: chart.x.scale, y: "auto" };
    const seen = new Set();

    const redraw = (plot) => {
      const panel = chart.rows[Number(plot.dataset.row)][Number(plot.dataset.panel)];
      const log = state.y === "auto" ? panel.log : state.y === "log";
      const shown = panel.lines.filter((line) => !state.hidden.has(line.series));
      const below = shown.some((line) => line.y.at(-1) <= 0);
      plot.parentElement.querySelector(".scale").textContent =
        log ? (below ? "(log scale, above zero only)" : "(log scale)") : "";
      Plotly.react(
        plot, traces(chart, shown, log), layout(chart, state, log, logRange(shown, state), panel, plot),
        { displayModeBar: false },
      );
    };
    const redrawSeen = () => seen.forEach(redraw);
    redraws.push(redrawSeen);

    // Forty plots at once would keep the reader waiting: each is drawn when it comes near.
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting || seen.has(entry.target)) continue;
        seen.add(entry.target);
        near.unobserve(entry.target);
        redraw(entry.target);
      }
    }, { rootMargin: "600px" });
    // Not Plotly's own "responsive": it waits, and misses a plot that was hidden while the window changed.
    const sized = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (seen.has(target) && target.clientWidth && target.clientWidth !== target.layout.width) redraw(target);
      }
    });
    element.querySelectorAll(".plot").forEach((plot) => {
      near.observe(plot);
      sized.observe(plot);
    });

    for (const key of element.querySelectorAll("button.key")) {
      key.addEventListener("click", () => {
        const series = Number(key.dataset.series);
        const shown = state.hidden.has(series);
        if (shown) state.hidden.delete(series);
        else state.hidden.add(series);
        key.setAttribute("aria-pressed", String(shown));
        redrawSeen();
      });
    }
    for (const group of element.querySelectorAll("[data-axis]")) {
      const buttons = group.querySelectorAll("button");
      for (const button of buttons) {
        button.addEventListener("click", () => {
          buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
          state[group.dataset.axis] = button.dataset.scale;
          redrawSeen();
        });
      }
    }
  }

  // ---- one of several at a time ----

  const choices = document.querySelectorAll("[data-chooses]");
  for (const button of choices) {
    button.addEventListener("click", () => {
      const name = button.dataset.chooses;
      choices.forEach((other) => other.setAttribute("aria-pressed", String(other.dataset.chooses === name)));
      document.querySelectorAll(".chosen").forEach((part) => part.classList.toggle("other", part.dataset.choice !== name));
    });
  }

  // ---- tables that are wider than the page ----

  const cut = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
    }
  });
  document.querySelectorAll(".box").forEach((box) => cut.observe(box));

  // On a small screen the contents would fill the first page.
  if (matchMedia("(max-width: 40rem)").matches) document.querySelector(".contents details").open = false;

  // ---- folded parts: open where a link leads into them, and on paper ----

  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
    if (target) target.scrollIntoView({ behavior: "instant" });
  };
  addEventListener("hashchange", unfold);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")];
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));

  // ---- contents ----

  const links = new Map(
    [...document.querySelectorAll(".contents li a")].map((link) => [link.getAttribute("href").slice(1), link]),
  );
  const reading = new IntersectionObserver((entries) => {
    for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => reading.observe(section));

  document.querySelectorAll(".chart").forEach(setUp);
  unfold();
  scheme.follow(() => redraws.forEach((redraw) => redraw()));
})();
