import type { EndpointCase } from "./all.ts";

/** Endpoints for operators and their monitors. */
export const OPERATION_ENDPOINTS: readonly EndpointCase[] = [
  { method: "GET", path: "/health", access: "none", valid: {}, fields: [] },
  {
    method: "GET",
    path: "/health/ready",
    access: "none",
    valid: { maxLagMs: "60000", network: "Preprod" },
    fields: [
      { name: "maxLagMs", refused: ["999", "86400001", "-1", "1.5", "ten", "", "1e3"] },
      { name: "network", refused: ["", "preprod", "Testnet"] },
    ],
  },
  { method: "GET", path: "/health/live", access: "none", valid: {}, fields: [] },
  { method: "GET", path: "/metrics", access: "Admin", valid: {}, fields: [], isText: true },
  {
    method: "GET",
    path: "/provider-budget",
    access: "Admin",
    valid: { sourceId: "source" },
    fields: [{ name: "sourceId", required: true, refused: ["", "x".repeat(251)] }],
    finds: 404,
  },
];
