/**
 * Under the locale C, some browsers have a language that is no language tag: "en-US@posix". uPlot formats numbers by the
 * language as it loads, and would fail. The console is in English.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
