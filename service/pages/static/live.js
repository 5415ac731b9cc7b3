// Puts the newest board in place of the one that is shown, once a second while the page is looked at.
"use strict";

const EVERY_MS = 1000;
const board = document.getElementById("board");
const live = document.getElementById("live");
let shown = "";

async function refresh() {
  try {
    const answer = await fetch("/board", { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    const selecting = !window.getSelection().isCollapsed; // whoever is copying something keeps it
    if (text !== shown && !selecting) {
      const scrolled = [...board.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      board.innerHTML = text; // rendered by this service, everything in it escaped
      board.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] || 0; });
      shown = text;
    }
    live.textContent = "live";
    live.classList.remove("lost");
  } catch {
    live.textContent = "no answer from the service";
    live.classList.add("lost");
  }
}

async function follow() {
  if (!document.hidden) await refresh();
  setTimeout(follow, EVERY_MS);
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
follow();
