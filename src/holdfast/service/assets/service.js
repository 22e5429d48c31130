"use strict";
(() => {
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
      charts.update();
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
  scheme.follow();
  hints();
  if (unfinished()) refresh();
})();
