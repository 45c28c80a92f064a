/** A seller's service and a buyer's on one chain, and the conversations of real clients with both. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../../devnet/client/wait.ts";
import {
  kodosumi,
  marketplace,
  marketplaceRefund,
  n8n,
  type Parties,
  pythonClient,
} from "./conversations.ts";
import { poll, type Service, startTwoServices, type TwoServices } from "./services.ts";

/** Each with the state that its clients bring about, and the one that comes of it by itself. */
const CONVERSATIONS = [
  ...[pythonClient, n8n, kodosumi, marketplace].map((talk) => ({
    talk,
    asked: "ResultSubmitted",
    ends: "Withdrawn",
  })),
  { talk: marketplaceRefund, asked: "RefundRequested", ends: "RefundWithdrawn" },
];

let scene: TwoServices | undefined;

beforeAll(async () => {
  scene = await startTwoServices();
});
afterAll(() => scene?.close());

/** The escrow as a side's diff shows it, once it is in a state. */
async function followed(
  service: Service,
  side: "payment" | "purchase",
  blockchainIdentifier: string,
  state: string,
): Promise<Record<string, unknown>> {
  const list = side === "payment" ? "Payments" : "Purchases";
  const find = (data: Record<string, Record<string, unknown>[]>) =>
    data[list]?.find((one) => one.blockchainIdentifier === blockchainIdentifier);
  const { json } = await poll(
    `the ${side} to be ${state}`,
    () =>
      service.call(service.adminKey, "GET", `/${side}/diff/onchain-state-or-result`, {
        network: "Preprod",
        limit: "100",
      }),
    ({ json: { data } }) => find(data)?.onChainState === state,
  );
  return find(json.data) ?? {};
}

it("both follow each escrow that clients of either spelling make, to its end, by diffs and webhooks", async () => {
  if (!scene) throw new Error("nothing was started");
  const { chain, services } = scene;
  const [first, second] = services;
  const pairs: Parties[] = [
    { chain, seller: first, buyer: second },
    { chain, seller: second, buyer: first },
  ];
  const escrows = await Promise.all(
    pairs.flatMap((parties) =>
      CONVERSATIONS.map(async ({ talk, ...states }) => ({
        ...parties,
        ...states,
        identifier: await talk(parties),
      })),
    ),
  );
  for (const { seller, buyer, identifier, asked } of escrows) {
    const payment = await followed(seller, "payment", identifier, asked);
    const purchase = await followed(buyer, "purchase", identifier, asked);
    expect(purchase.resultHash).toBe(payment.resultHash);
    for (const [service, kind] of [
      [seller, "PAYMENT_ON_CHAIN_STATUS_CHANGED"],
      [buyer, "PURCHASE_ON_CHAIN_STATUS_CHANGED"],
    ] as const)
      await until(
        () => {
          const states = service
            .told(identifier)
            .filter(({ type }) => type === kind)
            .map(({ data }) => data.onChainState);
          return states.includes("FundsLocked") && states.includes(asked);
        },
        { what: `${kind} of both states` },
      );
    const other = seller === first ? second : first;
    expect(other.told(identifier).map(({ type }) => type)).not.toContain(
      "PAYMENT_ON_CHAIN_STATUS_CHANGED",
    );
  }

  // The receipt: once the time to dispute is over, everybody is paid by themselves.
  const last = Math.max(
    ...(await Promise.all(
      escrows.map(async ({ seller, identifier, asked }) =>
        Number((await followed(seller, "payment", identifier, asked)).unlockTime),
      ),
    )),
  );
  chain.moveTo(last + 120_000);
  for (const { seller, buyer, identifier, ends } of escrows) {
    const payment = await followed(seller, "payment", identifier, ends);
    const purchase = await followed(buyer, "purchase", identifier, ends);
    expect(purchase.CurrentTransaction).toMatchObject({
      txHash: (payment.CurrentTransaction as { txHash: string }).txHash,
      status: "Confirmed",
    });
  }
});
