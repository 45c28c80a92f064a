import { ADMINISTRATION_PROBES } from "./administration.ts";
import { AGENT_PROBES } from "./agents.ts";
import { ESCROW_PROBES } from "./escrows.ts";
import type { Probes } from "./probe.ts";
import { WEBHOOK_PROBES } from "./webhooks.ts";
import { X402_PROBES } from "./x402.ts";

/** Requests to every operation of the OpenAPI document. */
export const PROBES: Probes = {
  ...ADMINISTRATION_PROBES,
  ...AGENT_PROBES,
  ...ESCROW_PROBES,
  ...WEBHOOK_PROBES,
  ...X402_PROBES,
};
