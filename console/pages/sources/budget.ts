import type { Action } from "../../ui/resource.ts";

/** What is left of the calls to the chain provider of a source of either kind. */
export const showBudgetAction: Action = {
  name: "budget",
  label: "Show provider budget",
  description:
    "Shows what is left of the calls to the source's provider, and for whom: who may use the last one comes first.",
  method: "GET",
  path: "/provider-budget",
  fromRow: { sourceId: "id" },
  shows: [
    { heading: "Used today (UTC)", path: "usedToday" },
    { heading: "Calls a day", path: "callsPerDay" },
    { heading: "Calls a second", path: "callsPerSecond" },
    { heading: "The provider refuses until", path: "stoppedUntil", as: "time" },
    { heading: "By class", path: "Classes", as: "records" },
  ],
};
