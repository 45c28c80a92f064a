/** Payments and purchases: lists, quotes, steps, sums and errors. */
import { randomBytes } from "node:crypto";
import { until } from "../../../devnet/client/wait.ts";
import { STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import type { Call } from "../peer-caller.ts";
import type { Scene } from "../scene.ts";

const NETWORK = "Preprod";
const network = { network: NETWORK };
const MINUTE_MS = 60_000;
const RESULT = "5e".repeat(32);

/** Lists, diffs, counts and sums, which have records by now. */
export async function callLists(call: Call): Promise<void> {
  const query = { ...network, limit: "20", includeHistory: "true" };
  for (const side of ["payment", "purchase"]) {
    await call(`GET /${side}`, { query });
    await call(`GET /${side}/count`, { query: network });
    for (const diff of ["diff", "diff/next-action", "diff/onchain-state-or-result"])
      await call(`GET /${side}/${diff}`, {
        query: { ...query, lastUpdate: new Date(0).toISOString() },
      });
  }
  const body = { ...network, agentIdentifier: null, timeZone: "Europe/Berlin" };
  await call("POST /payment/income", { body });
  await call("POST /purchase/spending", { body });
}

/** A quote that is bought; a step of each kind; and a record with an error. */
export async function callEscrows(
  call: Call,
  { escrows }: Scene,
  agents: { agentIdentifier: string; dear: string; onV2: string },
): Promise<void> {
  const quote = await quoteJob(call, agents.agentIdentifier);
  await call("POST /purchase", { body: quote.purchase });
  const { blockchainIdentifier } = quote.purchase;
  const unpaid = await quoteJob(call, agents.agentIdentifier);
  await call("POST /payment/x402", {
    body: {
      ...network,
      blockchainIdentifier: unpaid.purchase.blockchainIdentifier,
      buyerAddress: STRANGER.address,
    },
  });
  const second = await quoteJob(call, agents.onV2, { supportedPaymentSourceIndex: 0 });
  await call("POST /purchase", { body: second.purchase });
  for (const side of ["payment", "purchase"])
    await call(`POST /${side}/resolve-blockchain-identifier`, {
      body: { ...network, blockchainIdentifier, includeHistory: "true" },
    });

  const step = (operation: string, escrow: { identifier: string }, more = {}) =>
    call(operation, {
      body: { ...network, blockchainIdentifier: escrow.identifier, ...more },
    });
  await step("POST /payment/submit-result", escrows.locked, { submitResultHash: RESULT });
  await step("POST /payment/authorize-refund", escrows.contested);
  await step("POST /purchase/request-refund", escrows.delivered);
  await step("POST /purchase/cancel-refund-request", escrows.disputed);

  await step("POST /payment/submit-result", escrows.poor, { submitResultHash: RESULT });
  await recover(call, "payment", escrows.poor.identifier);
  const dear = await quoteJob(call, agents.dear);
  await call("POST /purchase", { body: dear.purchase });
  await recover(call, "purchase", dear.purchase.blockchainIdentifier);
}

/** Clears the error of a record, once the record has one. */
async function recover(call: Call, side: string, blockchainIdentifier: string): Promise<void> {
  const body = { ...network, blockchainIdentifier };
  const failed = await until(
    async () => {
      const found = await call(`POST /${side}/resolve-blockchain-identifier`, { body });
      return found.NextAction.errorType !== null && found;
    },
    { what: `an error of a ${side}`, everyMs: 500, limitMs: 120_000 },
  );
  await call(`POST /${side}/error-state-recovery`, {
    body: { ...body, updatedAt: failed.updatedAt },
  });
}

/** A quote, and the purchase that accepts it, as clients build it. */
async function quoteJob(call: Call, agentIdentifier: string, more: object = {}) {
  const at = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString();
  const job = {
    ...network,
    ...more,
    agentIdentifier,
    inputHash: randomBytes(32).toString("hex"),
    identifierFromPurchaser: randomBytes(10).toString("hex"),
  };
  const quote = await call("POST /payment", {
    body: {
      ...job,
      payByTime: at(20),
      submitResultTime: at(40),
      unlockTime: at(60),
      externalDisputeUnlockTime: at(80),
    },
  });
  const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = quote;
  const purchase = {
    ...job,
    blockchainIdentifier: quote.blockchainIdentifier as string,
    sellerVkey: quote.SmartContractWallet.walletVkey,
    payByTime,
    submitResultTime,
    unlockTime,
    externalDisputeUnlockTime,
  };
  return { quote, purchase };
}
