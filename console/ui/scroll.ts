/** Scroll positions: a new page begins at its top, and the browser's back button returns to where one was. */
import { effect } from "@preact/signals";
import { route } from "./route.ts";

/** Content arrives later than the route: the position is tried for so long. */
const RESTORE_MS = 4_000;

const positions = new Map<string, number>();
let shown = "";

/** Begins to store and restore positions. */
export function followScroll(): void {
  history.scrollRestoration = "manual";
  addEventListener("scroll", () => positions.set(location.hash, scrollY), { passive: true });
  effect(() => {
    const { page, id } = route.value;
    const name = `${page}/${id}`;
    if (name === shown) return;
    shown = name;
    // The browser keeps the state of an entry that was shown before.
    const isReturn = history.state === "seen";
    history.replaceState("seen", "");
    const position = isReturn ? (positions.get(location.hash) ?? 0) : 0;
    restore(position, Date.now() + RESTORE_MS);
  });
}

/** Stops as soon as the reader scrolls. */
function restore(position: number, until: number): void {
  const hash = location.hash;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  for (const name of ["wheel", "touchmove", "keydown"])
    addEventListener(name, stop, { once: true, passive: true });
  const attempt = () => {
    if (isStopped || location.hash !== hash) return;
    scrollTo(0, position);
    if (Math.abs(scrollY - position) > 1 && Date.now() < until) requestAnimationFrame(attempt);
  };
  attempt();
}
