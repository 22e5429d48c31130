"use strict";
// Dark or light: as the system is, until the button of the page says otherwise.
const scheme = (() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const KEY = "holdfast-theme";
  // A browser may refuse a page its storage; the choice then lasts as long as the page.
  const storage = (use) => { try { return use(localStorage); } catch { return null; } };
  const stored = storage((store) => store.getItem(KEY));
  if (stored) root.dataset.theme = stored;

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  // Charts listen for the event: a canvas has no style sheet.
  function follow() {
    const button = document.getElementById("theme");
    const themed = () => {
      button.textContent = isDark() ? "Light scheme" : "Dark scheme";
      dispatchEvent(new Event("scheme"));
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      storage((store) => store.setItem(KEY, root.dataset.theme));
      themed();
    });
    system.addEventListener("change", themed);
    themed();
  }
  return { follow };
})();
