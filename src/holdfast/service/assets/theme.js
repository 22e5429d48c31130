"use strict";
// Before anything is drawn, so that no page flashes in the other scheme.
try {
  const stored = localStorage.getItem("holdfast-theme");
  if (stored) document.documentElement.dataset.theme = stored;
} catch { /* storage is off */ }
