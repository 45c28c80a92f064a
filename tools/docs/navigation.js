/** Finds an operation of the reference on a screen that has no room for the renderer's own list. */
const search = document.querySelector("#find");
const list = document.querySelector("#operations");
const { paths } = await (await fetch("/api/v1/openapi.json")).json();
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { summary }]) => ({ method, path, summary })),
);

/** Offers the operations that have all words of the search in them. */
function offer() {
  const words = search.value.toLowerCase().split(/\s+/);
  const found = operations.filter(({ method, path, summary }) =>
    words.every((word) => `${method} ${path} ${summary}`.toLowerCase().includes(word)),
  );
  const first = new Option(`${found.length} operations`, "");
  list.replaceChildren(
    first,
    ...found.map(
      ({ method, path }) =>
        new Option(`${method.toUpperCase()} ${path}`, `${method}-${path.replace(/[{}]/g, "-")}`),
    ),
  );
}

search.addEventListener("input", offer);
list.addEventListener("change", () => {
  if (list.value) document.querySelector("rapi-doc").scrollToPath(list.value);
});
offer();

// The renderer leaves its own list, and what scrolls in it, without names; it renders when it likes.
const names = { "section-navbar": "Operations", "section-navbar-scroll": "Methods and paths" };
const { shadowRoot } = document.querySelector("rapi-doc");
function nameLists() {
  for (const [part, name] of Object.entries(names))
    shadowRoot.querySelector(`nav[part="${part}"]`)?.setAttribute("aria-label", name);
}
new MutationObserver(nameLists).observe(shadowRoot, { childList: true, subtree: true });
nameLists();
