"use strict";
(() => {
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

  unfold();
  scheme.follow();
})();
