import type { Caller } from "../http/context.ts";
import { findAgents, showAgent } from "./agents.ts";
import { purchaseJob, quoteJob } from "./buying.ts";
import { purchaseStatus, requestRefund, spending } from "./purchases.ts";
import type { Tool } from "./tool.ts";

const TOOLS: readonly Tool[] = [
  findAgents,
  showAgent,
  quoteJob,
  purchaseJob,
  purchaseStatus,
  requestRefund,
  spending,
];

/** The tools that a key may use: without +PAY it is not even told of those that move money. */
export function toolsOf(caller: Caller): readonly Tool[] {
  return TOOLS.filter(({ access }) => access === "User" || caller.canPay);
}
