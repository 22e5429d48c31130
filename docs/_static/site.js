// What the theme leaves out for those who read without a mouse or a screen.
addEventListener("DOMContentLoaded", () => {
  // The two sidebars need names to be kept apart.
  for (const [part, name] of [["sidebar-drawer", "All pages"], ["toc-drawer", "This page"]])
    document.querySelector(`.${part}`)?.setAttribute("aria-label", name);
  // What scrolls sideways must be reached by the keyboard.
  for (const wide of document.querySelectorAll("pre, .table-wrapper, .formula"))
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  // The theme of the gallery hides the text of its links.
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) link.ariaLabel = link.textContent;
  // A long signature is a list of parameters, not of definitions.
  for (const list of document.querySelectorAll("dt.sig > dl")) {
    list.setAttribute("role", "list");
    for (const item of list.children) item.setAttribute("role", "listitem");
  }
  // A title without text is no title, and a row of them is nothing.
  for (const title of document.querySelectorAll("th"))
    if (!title.textContent.trim()) title.setAttribute("role", "cell");
  for (const row of document.querySelectorAll("thead")) row.hidden = !row.textContent.trim();
});
