/** The press of a pointer that is under way. An element that moves meanwhile loses its click. */
let press: Promise<void> = Promise.resolve();

addEventListener(
  "mousedown",
  () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    press = promise;
    // The click follows in the same task.
    addEventListener("mouseup", () => setTimeout(resolve), { once: true, capture: true });
  },
  { capture: true },
);

/** Calls a function that may move the page: at once, or after the press that is under way. */
export function afterPress(act: () => void): void {
  press.then(act);
}
