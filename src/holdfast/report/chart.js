"use strict";
// The charts of reports and of the service, drawn by uPlot: lines with bands, dashes and markers, or points.
// Each `.chart` has its numbers as JSON and a `.plot` for each panel; legend and scale buttons are made here.
const charts = (() => {
  const touch = matchMedia("(pointer: coarse)").matches;
  const NARROW = "\u202f";
  const FONT = 11;
  const MARKERS = 7;

  // ---- numbers and colours as text ----

  const digits = (value) => (Math.abs(value) >= 100 || value === 0 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const written = (value, options) =>
    value.toLocaleString("en-US", options).replaceAll(",", NARROW).replace("-", "−");
  const show = (value, places) => written(value, { minimumFractionDigits: places, maximumFractionDigits: places });
  const tick = (value) => (value === null ? "" : written(value, { maximumSignificantDigits: 5 }));
  const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 19).replace("T", " ").replace(/( 00:00)?:00$/, "");

  const DAY = 86400;
  const dates = (_, ticks, __, ___, step) => ticks.map((seconds) => {
    const whole = seconds % DAY === 0;
    const parts = step >= 28 * DAY ? { month: "short", year: "numeric" }
      : step >= DAY || whole ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" };
    return new Date(1000 * seconds).toLocaleString("en-GB", { ...parts, timeZone: "UTC" });
  });

  // A colour of the page, light or dark as the page is.
  function colour(css) {
    const probe = document.createElement("span");
    probe.style.color = css;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
  const seriesColour = (look) => colour(`light-dark(${look.light}, ${look.dark})`);

  function element(tag, attributes = {}, ...children) {
    const made = tag === "svg" || tag === "path"
      ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // ---- one line ----

  const low = (line, i) => (line.spread ? line.y[i] - (line.spread[i] ?? 0) : line.low ? line.low[i] : line.y[i]);
  const high = (line, i) => (line.spread ? line.y[i] + (line.spread[i] ?? 0) : line.high ? line.high[i] : line.y[i]);

  function told(line, i) {
    const places = digits(line.y[i]);
    const value = show(line.y[i], places);
    if (line.spread) return line.spread[i] === null ? value : `${value} ± ${show(line.spread[i], places)}`;
    return line.low ? `${value} (${show(line.low[i], places)} to ${show(line.high[i], places)})` : value;
  }

  // A log axis has no place for zero and less, and no axis for what is no number.
  function kept(chart, line, state, log) {
    const x = chart.x.lists[line.x];
    const keep = x.map((_, i) => i).filter((i) => line.y[i] !== null && (!log || line.y[i] > 0) && (state.x !== "log" || x[i] > 0));
    const some = (values) => values && keep.map((i) => values[i]);
    const whole = { ...line, spread: some(line.spread), y: some(line.y) };
    return { ...whole, x: some(x), low: some(line.low), high: some(line.high), look: chart.series[line.series] };
  }

  // ---- ranges ----

  const spanOf = (values) => (values.length ? [Math.min(...values), Math.max(...values)] : [NaN, NaN]);

  // Where a log axis of values begins and ends. Along linear x all low values stand in one upright at the
  // left: the axis then begins just below where the lowest line ends.
  function logRange(lines, alongLog) {
    const [least] = spanOf(lines.flatMap((line) => (alongLog || line.points ? line.y : line.y.slice(-1))));
    const [, top] = spanOf(lines.flatMap((line) => line.y.map((_, i) => high(line, i))));
    // A first loss of 0.01 must not squeeze all others.
    return least > 0 ? [Math.max(least / (alongLog ? 1.2 : 4), top * 1e-6), top * 1.3] : [1, 10];
  }

  function linearRange(lines, fromZero) {
    const ends = lines.flatMap((line) => line.y.flatMap((_, i) => [low(line, i), high(line, i)]));
    let [least, most] = spanOf(ends.filter(Number.isFinite));
    if (!(most >= least)) return [0, 1];
    if (fromZero) [least, most] = [Math.min(least, 0), Math.max(most, 0)];
    const room = 0.05 * (most - least) || Math.abs(most) || 1;
    return [fromZero && least === 0 ? 0 : least - room, fromZero && most === 0 ? 0 : most + room];
  }

  function alongRange(lines, chart, log) {
    let [least, most] = spanOf(lines.flatMap((line) => line.x));
    if (!(most >= least)) return log ? [1, 10] : [0, 1];
    if (!log && !chart.x.dated) least = Math.min(least, 0);
    if (!lines.some((line) => line.points) && most > least) return [least, most];
    if (log) return [least / 1.3, most * 1.3];
    const room = 0.05 * (most - least) || 1;
    return [least === 0 ? -room / 2 : least - room, most + room];
  }

  // ---- what uPlot does not draw: bands and markers ----

  function band(chart, line, log) {
    const { ctx } = chart;
    const at = (i, value) => [chart.valToPos(line.x[i], "x", true), chart.valToPos(value, "y", true)];
    const below = (i) => Math.max(low(line, i), log ? line.y[i] / 1e3 : -Infinity);
    const shape = new Path2D();
    line.x.forEach((_, i) => shape.lineTo(...at(i, high(line, i))));
    for (let i = line.x.length - 1; i >= 0; i -= 1) shape.lineTo(...at(i, below(i)));
    ctx.globalAlpha = 0.17;
    ctx.fillStyle = seriesColour(line.look);
    ctx.fill(shape);
  }

  // Some points of a line, evenly along the axis; all of those that are not joined.
  function marked(chart, line) {
    if (line.points) return line.x.map((_, i) => i);
    const places = line.x.map((x) => chart.valToPos(x, "x", true));
    const step = (places.at(-1) - places[0]) / (MARKERS - 1);
    const wanted = Array.from({ length: MARKERS }, (_, k) => places.findIndex((place) => place >= places[0] + k * step - 1e-6));
    return [...new Set(wanted)].filter((i) => i >= 0);
  }

  function markers(chart, line) {
    if (!line.look.marker) return;
    const { ctx } = chart;
    const shape = new Path2D(line.look.marker);
    const size = devicePixelRatio * (line.points ? 1.3 : 0.85);
    ctx.fillStyle = seriesColour(line.look);
    for (const i of marked(chart, line)) {
      ctx.save();
      ctx.translate(chart.valToPos(line.x[i], "x", true), chart.valToPos(line.y[i], "y", true));
      ctx.scale(size, size);
      ctx.fill(shape);
      ctx.restore();
    }
  }

  // Inside the axes only: a zoom cuts bands and markers as it cuts lines.
  function inside(chart, draw) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw();
    ctx.restore();
  }

  // ---- values under the pointer ----

  function nearest(values, wanted) {
    let best = 0;
    values.forEach((value, i) => { if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i; });
    return best;
  }

  // Of each line its value where the pointer is; among points only the nearest.
  function pointedAt(chart, lines) {
    const { left, top } = chart.cursor;
    const found = lines.filter((line) => line.x.length).map((line) => {
      const i = nearest(line.x.map((x) => chart.valToPos(x, "x")), left);
      return { line, i, x: line.x[i] };
    });
    if (!found.some(({ line }) => line.points)) return found;
    const far = ({ line, i, x }) => Math.hypot(chart.valToPos(x, "x") - left, chart.valToPos(line.y[i], "y") - top);
    return found.toSorted((a, b) => far(a) - far(b)).slice(0, 1);
  }

  function hover(chart, box, lines, x) {
    const { left, top } = chart.cursor;
    const found = left >= 0 ? pointedAt(chart, lines) : [];
    box.hidden = !found.length;
    if (!found.length) return;
    const where = found[nearest(found.map((one) => chart.valToPos(one.x, "x")), left)].x;
    const title = x.dated ? day(where) : `${x.label} ${tick(where)}`;
    box.replaceChildren(
      element("div", {}, title),
      ...found.map(({ line, i }) => element("div", {}, swatch(line.look), `${line.look.label}: ${told(line, i)}`)),
    );
    const width = chart.over.clientWidth;
    const beside = left < width / 2 ? left + 14 : left - 14 - box.offsetWidth;
    box.style.left = `${Math.max(Math.min(beside, width - box.offsetWidth), 0)}px`;
    box.style.top = `${Math.max(Math.min(top - 20, chart.over.clientHeight - box.offsetHeight), 0)}px`;
  }

  // ---- one panel ----

  // Round numbers on a logarithmic axis: powers of ten, also twice and five times those, or even steps where it is short.
  function roundSplits(low, high) {
    const parts = Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5];
    const from = Math.floor(Math.log10(low));
    const powers = Array.from({ length: Math.ceil(Math.log10(high)) - from + 1 }, (_, i) => 10 ** (from + i));
    const found = powers.flatMap((power) => parts.map((part) => part * power)).filter((value) => low <= value && value <= high);
    if (found.length > 2) return found;
    const rough = (high - low) / 5;
    const step = [1, 2, 5, 10].map((part) => part * 10 ** Math.floor(Math.log10(rough))).find((one) => one >= rough);
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  }
  const logarithmic = { splits: (plot, axis, low, high) => roundSplits(low, high), filter: (plot, splits) => splits };

  function axes(chart, state, log) {
    const font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
    const quiet = colour("var(--quiet)");
    const line = { stroke: colour("var(--line)"), width: 1 };
    const common = { stroke: quiet, font, labelFont: font, labelSize: 20, ticks: { ...line, size: 4 }, gap: 4 };
    const numbers = { values: (_, ticks) => ticks.map(tick) };
    const along = chart.x.dated ? { values: dates } : numbers;
    const size = (_, values) => 14 + Math.max(...(values ?? [""]).map((text) => 0.62 * FONT * (text ?? "").length));
    return [
      { ...common, ...along, ...(state.x === "log" ? logarithmic : {}), grid: { show: false }, label: chart.x.label, size: 30, space: 60 },
      { ...common, ...numbers, ...(log ? logarithmic : {}), grid: line, size, space: 40 },
    ];
  }

  function draw(place, chart, state, panel, log) {
    const lines = panel.lines.map((line) => kept(chart, line, state, log));
    const shown = () => lines.filter((line) => !state.hidden.has(line.look.label));
    const box = element("div", { class: "hover", hidden: "" });
    const options = {
      width: place.clientWidth, height: place.clientHeight, axes: axes(chart, state, log), padding: [8, 28, 0, 0],
      legend: { show: false }, tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"),
      scales: {
        x: { time: chart.x.dated, distr: state.x === "log" ? 3 : 1, range: () => alongRange(lines, chart, state.x === "log") },
        y: {
          distr: log ? 3 : 1,
          range: () => (log ? logRange(shown(), state.x === "log") : linearRange(shown(), panel.fromZero)),
        },
      },
      series: [{}, ...lines.map((line) => ({
        label: line.look.label, show: !state.hidden.has(line.look.label), stroke: seriesColour(line.look), width: 2,
        dash: line.look.dash, points: { show: false }, ...(line.points ? { paths: () => null } : {}),
      }))],
      cursor: { y: false, points: { show: !panel.lines.some((line) => line.points), size: 6 }, drag: { x: !touch, y: !touch, uni: 20 } },
      hooks: {
        init: [(made) => made.over.append(box)],
        drawAxes: [(made) => inside(made, () => shown().filter((line) => line.spread || line.low).forEach((line) => band(made, line, log)))],
        draw: [(made) => inside(made, () => shown().forEach((line) => markers(made, line)))],
        setCursor: [(made) => hover(made, box, shown(), chart.x)],
      },
    };
    return new uPlot(options, lines.length ? uPlot.join(lines.map((line) => [line.x, line.y])) : [[]], place);
  }

  // ---- legend and scales ----

  function swatch(look) {
    const line = element("path", { d: "M-17 0H17", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": (look.dash ?? []).join(" ") });
    const marker = look.marker ? [element("path", { d: look.marker, fill: "currentColor" })] : [];
    const svg = element("svg", { class: "swatch", width: 34, height: 12, viewBox: "-17 -6 34 12", "aria-hidden": "true" }, ...(look.points ? [] : [line]), ...marker);
    svg.style.color = `light-dark(${look.light}, ${look.dark})`;
    return svg;
  }

  const heading = (words) => element("span", { class: "heading" }, words);

  function buttons(axis, words, names, pressed, press) {
    const group = element("span", { class: "buttons", role: "group", "aria-label": `Scale of ${words}`, "data-axis": axis });
    for (const name of names) {
      const button = element("button", { type: "button", "data-scale": name, "aria-pressed": String(name === pressed) }, name);
      button.addEventListener("click", () => {
        for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
        press(name);
      });
      group.append(button);
    }
    return element("span", {}, heading(words), group);
  }

  // ---- charts ----

  function setUp(place) {
    const plots = new Map();
    const state = { hidden: new Set(), x: null, y: "auto" };
    let chart, read;

    const panelOf = (plot) => chart.rows[Number(plot.dataset.row)][Number(plot.dataset.panel)];
    const isLog = (panel) => (state.y === "auto" ? panel.log : state.y === "log");
    const caption = (plot) => {
      const panel = panelOf(plot);
      const ends = panel.lines.filter((line) => !state.hidden.has(chart.series[line.series].label)).map((line) => line.y.at(-1));
      const below = ends.some((end) => end <= 0) ? ", above zero only" : "";
      plot.parentElement.querySelector(".scale").textContent = isLog(panel) ? `(log scale${below})` : "";
    };
    const redraw = (plot) => {
      const panel = panelOf(plot);
      plots.get(plot)?.destroy();
      plots.set(plot, draw(plot, chart, state, panel, isLog(panel)));
      plot.chart = plots.get(plot);
      caption(plot);
    };
    const redrawAll = () => [...plots.keys()].forEach(redraw);

    const toggle = (key, label) => {
      const shown = state.hidden.delete(label);
      if (!shown) state.hidden.add(label);
      key.setAttribute("aria-pressed", String(shown));
      for (const [plot, made] of plots) {
        made.series.forEach((series, i) => { if (i && series.label === label) made.setSeries(i, { show: shown }); });
        caption(plot);
      }
    };
    const controls = () => {
      const keys = chart.series.map((look) => {
        const pressed = String(!state.hidden.has(look.label));
        const key = element("button", { type: "button", class: "key", "aria-pressed": pressed }, swatch(look), element("span", {}, look.label));
        key.addEventListener("click", () => toggle(key, look.label));
        return key;
      });
      const words = chart.label ? [heading(chart.label)] : [];
      const made = element("div", { class: "controls" }, element("div", { class: "legend", role: "group", "aria-label": "Show or hide a series" }, ...words, ...keys));
      if (!chart.live) {
        const press = (axis) => (name) => { state[axis] = name; redrawAll(); };
        const along = chart.x.dated ? [] : [buttons("x", chart.x.label, ["linear", "log"], state.x, press("x"))];
        made.append(element("div", { class: "scales" }, ...along, buttons("y", "values", ["auto", "linear", "log"], state.y, press("y"))));
      }
      return made;
    };

    // Numbers that have changed are drawn again; a series once hidden stays so.
    const update = () => {
      const text = place.querySelector("script").textContent;
      if (text === read) return;
      read = text;
      chart = JSON.parse(text);
      state.x ??= chart.x.scale;
      const now = controls();
      const before = place.querySelector(".controls");
      if (before?.outerHTML !== now.outerHTML) {
        before?.remove();
        place.prepend(now);
      }
      redrawAll();
    };
    update();

    // Forty plots at once would keep the reader waiting: each is drawn when it comes near.
    const near = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting && !plots.has(target)) redraw(target);
    }, { rootMargin: "600px" });
    // A plot may be hidden while the window changes, and shown later.
    const sized = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const { clientWidth: width, clientHeight: height } = target;
        const made = plots.get(target);
        if (made && width && (width !== made.width || height !== made.height)) made.setSize({ width, height });
      }
    });
    for (const plot of place.querySelectorAll(".plot")) {
      if (chart.live) redraw(plot);
      else near.observe(plot);
      sized.observe(plot);
    }
    return { update, redraw: redrawAll };
  }

  const all = [...document.querySelectorAll(".chart")].map(setUp);
  addEventListener("scheme", () => all.forEach((chart) => chart.redraw()));
  return { update: () => all.forEach((chart) => chart.update()) };
})();
