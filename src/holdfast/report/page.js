"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("curves").textContent);
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const NARROW = "\u202f";

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  // Plotly reads a label as a little HTML.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const digits = (value) => (Math.abs(value) >= 100 || value === 0 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const show = (value, places) =>
    value
      .toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })
      .replaceAll(",", NARROW)
      .replace("-", "−");
  const spread = (mean, sd) =>
    sd === null ? show(mean, digits(mean)) : `${show(mean, digits(mean))} ± ${show(sd, digits(mean))}`;
  const faint = (hex) => `${hex}2b`;

  // ---- one panel: state in, Plotly's traces and layout out ----

  function scaleOf(state, measure, figure) {
    return state.y === "auto" ? (figure.log[measure] ? "log" : "linear") : state.y;
  }

  // Where a log axis of values begins and ends. Along linear rounds all low values stand in one upright at the
  // left: the axis then begins just below where the lowest curve ends.
  function logRange(shown, measure, state) {
    const values = shown.flatMap((curve) =>
      state.x === "log" ? curve.mean[measure] : curve.mean[measure].slice(-1)).filter((value) => value > 0);
    const tops = shown.flatMap((curve) => curve.mean[measure].map((value, i) => value + (curve.sd[measure][i] ?? 0)));
    const top = Math.max(...tops);
    // A first loss of 0.01 must not squeeze all others.
    const low = Math.max(Math.min(...values) / (state.x === "log" ? 1.2 : 4), top * 1e-6);
    return values.length ? [Math.log10(low), Math.log10(top * 1.3)] : [0, 1];
  }

  function traces(figure, shown, measure, log) {
    const drawn = [];
    for (const curve of shown) {
      const look = figure.series[curve.series];
      const colour = isDark() ? look.dark : look.light;
      // A log axis has no place for zero and less.
      const kept = curve.round.map((_, i) => i).filter((i) => !log || curve.mean[measure][i] > 0);
      const x = kept.map((i) => curve.round[i]);
      const mean = kept.map((i) => curve.mean[measure][i]);
      const sd = kept.map((i) => curve.sd[measure][i]);
      if (sd.some((value) => value !== null)) {
        const high = mean.map((value, i) => value + (sd[i] ?? 0));
        const low = mean.map((value, i) => Math.max(value - (sd[i] ?? 0), log ? value / 1e3 : -Infinity));
        drawn.push({
          x: x.concat(x.toReversed()), y: high.concat(low.toReversed()),
          mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faint(colour), hoverinfo: "skip",
        });
      }
      drawn.push({
        x, y: mean, name: plain(look.label), mode: "lines+markers",
        line: { color: colour, width: 2, dash: look.dash },
        marker: { color: colour, size: 6, symbol: look.symbol, maxdisplayed: 7 },
        text: mean.map((value, i) => spread(value, sd[i])),
        hovertemplate: "%{text}",
      });
    }
    return drawn;
  }

  function layout(state, log, range) {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const ink = style("body").color;
    const quiet = style(".lead").color;
    const line = style("th").borderBottomColor;
    const axis = {
      gridcolor: line, linecolor: quiet, zerolinecolor: line, tickcolor: line, tickfont: { color: quiet, size: 11 },
      tickformat: ",~f", nticks: 6, automargin: true, fixedrange: touch,
    };
    const decades = { type: "log", dtick: 1 };
    // Fewer than two decades would have a tick or two.
    const short = range[1] - range[0] < 2 ? { dtick: "D2" } : {};
    return {
      autosize: true, margin: { l: 48, r: 14, t: 8, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style("body").fontFamily, size: 12, color: ink },
      separators: `.${NARROW}`, showlegend: false, hovermode: "x unified", dragmode: touch ? false : "zoom",
      // The box lies on the curves: let them show through a little.
      hoverlabel: {
        bgcolor: style("body").backgroundColor.replace("rgb(", "rgba(").replace(")", ", 0.93)"),
        bordercolor: line, font: { color: ink, size: 11 },
      },
      // A zoom lasts until the scale changes.
      uirevision: `${state.x} ${log}`,
      xaxis: {
        ...axis, ...(state.x === "log" ? decades : { rangemode: "tozero" }), showgrid: false, showline: true,
        title: { text: "round", font: { size: 12, color: quiet }, standoff: 6 },
        unifiedhovertitle: { text: "round %{x:,d}" },
        showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "dot", spikecolor: quiet,
      },
      yaxis: { ...axis, ...(log ? { ...decades, ...short, range } : { rangemode: "tozero" }) },
    };
  }

  // ---- figures ----

  const redraws = [];

  function setUp(section) {
    const figure = figures[Number(section.dataset.figure)];
    const state = { hidden: new Set(), x: "linear", y: "auto" };
    const plots = [...section.querySelectorAll(".plot")];
    const seen = new Set();

    const redraw = (plot) => {
      const measure = Number(plot.dataset.measure);
      const log = scaleOf(state, measure, figure) === "log";
      const shown = figure.rows[Number(plot.dataset.row)].filter((curve) => !state.hidden.has(curve.series));
      const below = shown.some((curve) => curve.mean[measure].at(-1) <= 0);
      plot.parentElement.querySelector(".scale").textContent =
        log ? (below ? "(log scale, above zero only)" : "(log scale)") : "";
      const range = logRange(shown, measure, state);
      Plotly.react(plot, traces(figure, shown, measure, log), layout(state, log, range), {
        displayModeBar: false, responsive: true,
      });
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
    plots.forEach((plot) => near.observe(plot));

    for (const key of section.querySelectorAll(".key")) {
      key.addEventListener("click", () => {
        const series = Number(key.dataset.series);
        const shown = state.hidden.has(series);
        if (shown) state.hidden.delete(series);
        else state.hidden.add(series);
        key.setAttribute("aria-pressed", String(shown));
        redrawSeen();
      });
    }
    for (const group of section.querySelectorAll("[data-axis]")) {
      choose(group, (button) => {
        state[group.dataset.axis] = button.dataset.scale;
        redrawSeen();
      });
    }
  }

  // One button of the group is pressed at a time.
  function choose(group, act) {
    const buttons = group.querySelectorAll("button");
    for (const button of buttons) {
      button.addEventListener("click", () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        act(button);
      });
    }
  }

  // ---- ledger, scheme, contents ----

  choose(document.querySelector(".filter"), (button) => {
    for (const row of document.querySelectorAll(".ledger tbody tr")) {
      row.hidden = button.dataset.show !== "all" && row.dataset.verdict !== button.dataset.show;
    }
  });

  const theme = document.getElementById("theme");
  const KEY = "holdfast-theme";
  const themed = () => {
    theme.textContent = isDark() ? "Light scheme" : "Dark scheme";
    redraws.forEach((redraw) => redraw());
  };
  // A browser may refuse a page from disk its storage; the choice then lasts as long as the page.
  const storage = (use) => { try { return use(localStorage); } catch { return null; } };
  const stored = storage((store) => store.getItem(KEY));
  if (stored) root.dataset.theme = stored;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storage((store) => store.setItem(KEY, root.dataset.theme));
    themed();
  });
  system.addEventListener("change", themed);

  const links = new Map(
    [...document.querySelectorAll(".contents li a")].map((link) => [link.getAttribute("href").slice(1), link]),
  );
  const reading = new IntersectionObserver((entries) => {
    for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => reading.observe(section));

  document.querySelectorAll(".figure").forEach(setUp);
  themed();
})();
