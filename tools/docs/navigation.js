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

// The renderer leaves its own list without a name.
document.querySelector("rapi-doc").addEventListener("spec-loaded", ({ target }) => {
  requestAnimationFrame(() => {
    for (const nav of target.shadowRoot.querySelectorAll("nav"))
      nav.setAttribute("aria-label", "Operations");
  });
});
