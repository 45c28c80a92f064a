/** What a seller and a buyer ask of the service, which has the wallets of both. */
import { randomBytes } from "node:crypto";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { type ApiAccess, ask, Refused } from "../client/api.ts";

const NETWORK = "Preprod";
const MINUTE_MS = 60_000;

/** An agent, and the contract that it is paid through. */
export interface Shop {
  agentIdentifier: string;
  paymentSourceType: PaymentSourceType;
}

/** What was asked for, with what it takes to ask for it again. */
export interface Bought {
  blockchainIdentifier: string;
  body: object;
}

/** How a request is sent. */
type Post = <Data>(access: ApiAccess, method: "POST", path: string, body: object) => Promise<Data>;

/**
 * Has a job quoted and buys it. The result is due in 16 minutes, and paid out in 31: the earliest that may be.
 *
 * @param delayMinutes - by which all times are later
 */
export async function buyJob(
  service: ApiAccess,
  shop: Shop,
  post: Post = ask,
  delayMinutes = 0,
): Promise<Bought> {
  const { agentIdentifier, paymentSourceType } = shop;
  const onV2 = paymentSourceType === "Web3ChainV2" && { supportedPaymentSourceIndex: 0 };
  const identifierFromPurchaser = randomBytes(10).toString("hex");
  const inputHash = randomBytes(32).toString("hex");
  const now = Date.now();
  const at = (minutes: number) =>
    new Date(now + (delayMinutes + minutes) * MINUTE_MS).toISOString();
  const quote = await post<Record<string, string>>(service, "POST", "/payment", {
    network: NETWORK,
    agentIdentifier,
    inputHash,
    identifierFromPurchaser,
    payByTime: at(10),
    submitResultTime: at(16),
    unlockTime: at(31),
    externalDisputeUnlockTime: at(46),
    ...onV2,
  });
  const body = {
    network: NETWORK,
    blockchainIdentifier: quote.blockchainIdentifier,
    agentIdentifier,
    inputHash,
    sellerVkey: quote.sellerVKey,
    identifierFromPurchaser,
    payByTime: quote.payByTime,
    submitResultTime: quote.submitResultTime,
    unlockTime: quote.unlockTime,
    externalDisputeUnlockTime: quote.externalDisputeUnlockTime,
    ...(onV2 && { ...onV2, sellerReturnAddress: quote.sellerReturnAddress }),
  };
  await post(service, "POST", "/purchase", body);
  return { blockchainIdentifier: quote.blockchainIdentifier ?? "", body };
}

/** A step that somebody asks for, once its escrow is where it can be made. */
export type AskedStep = "deliver" | "request-refund" | "cancel-refund" | "authorize-refund";

const REQUESTS: Record<AskedStep, { path: string; more?: object }> = {
  deliver: { path: "/payment/submit-result", more: { submitResultHash: "5e".repeat(32) } },
  "request-refund": { path: "/purchase/request-refund" },
  "cancel-refund": { path: "/purchase/cancel-refund-request" },
  "authorize-refund": { path: "/payment/authorize-refund" },
};

/** Asks for a step. @returns whether it is accepted: else it is too early, or too late */
export async function askStep(
  service: ApiAccess,
  step: AskedStep,
  { blockchainIdentifier }: Pick<Bought, "blockchainIdentifier">,
  post: Post = ask,
): Promise<boolean> {
  const { path, more } = REQUESTS[step];
  try {
    await post(service, "POST", path, { network: NETWORK, blockchainIdentifier, ...more });
    return true;
  } catch (error) {
    if (error instanceof Refused && (error.status === 409 || error.status === 404)) return false;
    throw error;
  }
}
