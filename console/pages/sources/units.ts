/** What tokens are called. */
import type { Resource } from "../../ui/resource.ts";

export const unitNames: Resource = {
  name: "units",
  title: "Units",
  description: "What tokens are called, and how many decimals they have. Every amount uses them.",
  path: "/units",
  rowsMember: "Units",
  key: "unit",
  isWhole: true,
  emptyText: "No unit is known.",
  columns: [
    { heading: "Ticker", path: "ticker" },
    { heading: "Unit", path: "unit", as: "code" },
    { heading: "Decimals", path: "decimals" },
  ],
  creates: [
    {
      name: "save",
      label: "Name a unit",
      description: "Says what a token is called and how many decimals it has.",
      method: "POST",
      path: "/units",
      fields: [
        {
          name: "unit",
          label: "Unit",
          isRequired: true,
          hint: "Policy id and asset name in hex.",
        },
        { name: "ticker", label: "Ticker", isRequired: true },
        { name: "decimals", label: "Decimals", as: "number", isRequired: true },
      ],
    },
  ],
  actions: [
    {
      name: "forget",
      label: "Forget",
      description: "Forgets what the token is called: its amounts are shown in minor units.",
      method: "DELETE",
      path: "/units",
      fromRow: { unit: "unit" },
      isFinal: true,
      isApplicable: (row) => (row as { unit: string }).unit !== "",
    },
  ],
};
