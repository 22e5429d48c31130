"use strict";
(() => {
  const { isDark } = scheme;
  const short = (value) =>
    value === null || value === undefined ? "–"
      : value.toLocaleString("en-US", { maximumSignificantDigits: 5 }).replace("-", "−");

  // ---- charts: made once, then given new numbers

  const charts = {};

  function colour(arm) {
    const probe = document.createElement("span");
    probe.className = `s${arm % 7}`;
    probe.hidden = true;
    document.body.append(probe);
    const found = getComputedStyle(probe).getPropertyValue(isDark() ? "--on-dark" : "--on-light").trim();
    probe.remove();
    return found;
  }

  function axes(label) {
    const ink = isDark() ? "#9aa2aa" : "#5c646c";
    const grid = { stroke: isDark() ? "#33383e" : "#e2e5e8", width: 1 };
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const values = (_, ticks) => ticks.map(short);
    return [
      { stroke: ink, grid: { show: false }, ticks: grid, font, values, label: "rounds", labelFont: font, labelSize: 18 },
      { stroke: ink, grid, ticks: { show: false }, font, values, size: 64, label, labelFont: font, labelSize: 18 },
    ];
  }

  // Without the legend, which may have many names.
  const size = (place) => ({ width: place.clientWidth, height: parseFloat(getComputedStyle(place).minHeight) });

  function draw(id, label, series, rows, range) {
    const place = document.getElementById(id);
    if (!place || !rows[0].length) return;
    const made = charts[id];
    if (made && made.series.length === series.length && made.dark === isDark()) {
      made.setData(rows);
      return;
    }
    if (made) made.destroy();
    const options = {
      ...size(place), axes: axes(label), padding: [null, 30, null, null], // half of the last number below
      scales: { x: { time: false }, y: range ? { range } : {} },
      series: [{ label: "round", value: (_, value) => short(value) }, ...series],
      legend: { live: true, markers: { dash: (chart, i) => (chart.series[i].dash ? "dashed" : "solid") } }, cursor: { points: { size: 6 } },
    };
    charts[id] = Object.assign(new uPlot(options, rows, place), { dark: isDark() });
  }

  function drawAll() {
    const holder = document.getElementById("numbers");
    if (!holder || typeof uPlot === "undefined") return;
    const { names, lines } = JSON.parse(holder.dataset.numbers);
    if (!lines) return;
    const ink = isDark() ? "#e4e6e8" : "#1d2125";
    const line = (label, stroke, width, dash) => ({
      label, stroke, width, dash, value: (_, found) => short(found), points: { show: false }, spanGaps: true,
    });
    const series = [line("paid", ink, 2.5)], rows = [lines.rounds, lines.cost];
    const add = (numbers, ...look) => {
      if (numbers) { series.push(line(...look)); rows.push(numbers); }
    };
    names.forEach((name, arm) => add(lines.fixed[arm], `only ${name}`, colour(arm), 1.5, [6, 4]));
    add(lines.rule, "your rule", ink, 1.5, [8, 3, 2, 3]);
    add(lines.plan, "best plan", ink, 2, [2, 3]);
    add(lines.bound, "proved bound", isDark() ? "#9aa2aa" : "#5c646c", 1.5);
    draw("cost", "cost", series, rows);
    const drawn = names.map((name, arm) => ({
      label: String(name), stroke: colour(arm), fill: colour(arm), value: (_, found) => short(found), paths: () => null,
      points: { show: true, size: 5, fill: colour(arm) },
    }));
    const by = names.map((_, arm) => lines.drawn.map((one) => (one && one[0] === arm ? one[1] : null)));
    draw("drawn", "probability", drawn, [lines.rounds, ...by], [0, 1]);
  }

  addEventListener("resize", () => {
    for (const [id, chart] of Object.entries(charts)) {
      const place = document.getElementById(id);
      chart.setSize(size(place));
    }
  });

  // ---- live: what is marked so is taken from the page as it is by now

  const told = document.getElementById("live-state");
  const say = (words, wrong) => {
    told.textContent = words;
    told.dataset.wrong = wrong ? "yes" : "no";
  };
  let loading = false, again = false, last = 0;
  const unfinished = () => document.querySelector("[data-again]");

  async function refresh() {
    if (document.hidden || loading) { again = true; return; }
    loading = true;
    let read = false;
    try {
      const wait = last + (unfinished() ? 200 : 2000) - Date.now();
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
      again = false;
      last = Date.now();
      const answer = await fetch(location.pathname + location.search, { redirect: "error" });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of document.querySelectorAll("[data-live]")) {
        const now = fresh.getElementById(old.id);
        if (now && old.outerHTML !== now.outerHTML) old.replaceWith(document.importNode(now, true));
      }
      read = true;
      drawAll();
      hints();
      say("live", false);
    } catch {
      say("not connected", true);
    } finally {
      loading = false;
      if (again || (read && unfinished())) refresh();
    }
  }

  const stream = document.querySelector("[data-events]");
  if (stream) {
    let seen = null;
    const listen = () => {
      const source = new EventSource(stream.dataset.events);
      source.onopen = () => say("live", false);
      source.onerror = () => {
        say("not connected", true);
        if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000); // a proxy said so: browsers give up
      };
      source.onmessage = (event) => {
        const known = seen === null ? event.lastEventId === stream.dataset.revision : event.data === seen;
        seen = event.data;
        if (!known) refresh();
      };
    };
    listen();
  } else if (document.querySelector("[data-every]")) {
    setInterval(refresh, 5000);
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden && again) refresh(); });

  // ---- tables that are too wide

  function hints() {
    for (const box of document.querySelectorAll(".box")) {
      if (box.scrollWidth > box.clientWidth) { box.tabIndex = 0; box.setAttribute("role", "region"); }
    }
  }
  scheme.follow(drawAll);
  hints();
  if (unfinished()) refresh();
})();
