/** Lists of names that pages choose from. A test holds each against the API's own. */
import { EVENT_KINDS } from "../../../src/events/event-kinds.ts";
import { AUDIT_ACTIONS } from "../../../src/http/audit-actions.ts";

export const AUTOMATION_MODES = ["all", "finish", "nothing"] as const;
export const WALLET_TYPES = ["Purchasing", "Selling", "Funding"] as const;
export const SOURCE_TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
export const WEBHOOK_FORMATS = ["EXTENDED", "CHAT", "GOOGLE_CHAT", "DISCORD"] as const;
export const PROVIDER_KINDS = ["Blockfrost", "Ogmios"] as const;
export const PROVIDER_PURPOSES = ["reads", "evaluate", "submit"] as const;
export { AUDIT_ACTIONS, EVENT_KINDS };

/** What `drives` does, for the hints of forms. */
export const AUTOMATION_MODE_HINT =
  "Runs everything: new and open escrows. Ends open escrows: no new ones. Only watches: no transaction.";
