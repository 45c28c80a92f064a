/** Lists of names that pages choose from. A test holds each against the API's own. */
import { EVENT_KINDS } from "../../../src/events/event-kinds.ts";

export const AUTOMATION_MODES = ["all", "finish", "nothing"] as const;
export const WALLET_TYPES = ["Purchasing", "Selling", "Funding"] as const;
export const SOURCE_TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
export const WEBHOOK_FORMATS = ["EXTENDED", "CHAT", "GOOGLE_CHAT", "DISCORD"] as const;
export const PROVIDER_KINDS = ["Blockfrost", "Ogmios"] as const;
export const PROVIDER_PURPOSES = ["reads", "evaluate", "submit"] as const;
/** Changes that people look for in the audit log. */
export const AUDIT_ACTIONS = [
  "api-key.create",
  "api-key.update",
  "api-key.delete",
  "webhook.create",
  "webhook.update",
  "webhook.delete",
  "webhook.rotate-secret",
  "webhook.replay",
  "wallet.create",
  "wallet.update",
  "wallet.delete",
  "wallet.transfer",
  "wallet.reveal-secret",
  "low-balance-rule.create",
  "low-balance-rule.update",
  "low-balance-rule.delete",
  "top-up-rule.create",
  "top-up-rule.update",
  "top-up-rule.delete",
  "payment-source.create",
  "payment-source.update",
  "payment-source.delete",
  "registry-source.create",
  "registry-source.update",
  "registry-source.remove",
  "x402-payment-source.create",
  "x402-payment-source.update",
  "payment.create",
  "payment.step",
  "purchase.create",
  "purchase.step",
  "purchase.cancel",
  "dispute.propose",
  "dispute.sign",
  "dispute.withdraw",
  "agent.register",
  "agent.deregister",
  "invoice.issue",
  "invoice-rate.store",
] as const;
export { EVENT_KINDS };

/** What `drives` does, for the hints of forms. */
export const AUTOMATION_MODE_HINT =
  "Runs everything: new and open escrows. Ends open escrows: no new ones. Only watches: no transaction.";
