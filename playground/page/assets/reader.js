"use strict";
// Opens `#heading=h.…` in whichever tab holds it, as Google Docs does.
function openHeading() {
  const id = new URLSearchParams(location.hash.slice(1)).get("heading");
  document.querySelectorAll(".cited").forEach((each) => each.classList.remove("cited"));
  const heading = id && document.getElementById(id);
  if (!heading) return;
  const tab = heading.closest("section").dataset.tab;
  document.querySelectorAll("[data-tab]").forEach((each) => { each.hidden = each.dataset.tab !== tab; });
  document.querySelectorAll(".outline .tab").forEach((each) => {
    const its = new URL(each.href).searchParams.get("tab");
    its === tab ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current");
  });
  document.querySelectorAll(".outline .lines a").forEach((each) => {
    each.classList.toggle("here", each.hash === location.hash);
  });
  heading.classList.add("cited");
  heading.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", openHeading);
openHeading();
