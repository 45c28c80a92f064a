import type { Action } from "../../ui/resource.ts";

/** What is left of the calls to the chain provider of a source of either kind. */
export const showBudget: Action = {
  name: "budget",
  label: "Show provider budget",
  about:
    "Shows what is left of the calls to the source's provider, and for whom: who may use the last one comes first.",
  method: "GET",
  path: "/provider-budget",
  fromRow: { sourceId: "id" },
  shows: [
    { head: "Used today (UTC)", at: "usedToday" },
    { head: "Calls a day", at: "callsPerDay" },
    { head: "Calls a second", at: "callsPerSecond" },
    { head: "The provider refuses until", at: "stoppedUntil", as: "time" },
    { head: "By class", at: "Classes", as: "records" },
  ],
};
