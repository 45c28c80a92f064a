import { disputeQueue } from "./escrow/disputes/dispute-queue.ts";
import { escrowQueue } from "./escrow/tasks/escrow-queue.ts";
import { registrationQueue } from "./registrations/registration-queue.ts";
import { referenceScriptQueue } from "./wallets/reference-scripts/reference-script-queue.ts";
import type { FeatureQueue } from "./wallets/spending/feature-queue.ts";
import { createTaskQueue } from "./wallets/spending/task-queue.ts";
import { transferQueue } from "./wallets/transfers/transfer-queue.ts";

/** The features that wallets work for, most urgent first. No other place lists them. */
export const WALLET_FEATURES: readonly FeatureQueue[] = [
  escrowQueue,
  createTaskQueue([disputeQueue, referenceScriptQueue, registrationQueue, transferQueue]),
];
