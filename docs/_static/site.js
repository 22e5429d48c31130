// The two sidebars of the theme have no names of their own, which screen readers need to tell them apart.
addEventListener("DOMContentLoaded", () => {
  for (const [part, name] of [["sidebar-drawer", "All pages"], ["toc-drawer", "This page"]])
    document.querySelector(`.${part}`)?.setAttribute("aria-label", name);
});
