/** A seller's service and a buyer's on one chain: the conversations of real clients with both, and lives beside them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../../devnet/client/wait.ts";
import {
  kodosumi,
  MINUTE,
  marketplace,
  marketplaceRefund,
  n8n,
  type Parties,
  pythonClient,
} from "./conversations.ts";
import { ESCROW_STORIES } from "./escrow-stories.ts";
import { poll, type Service, startTwoServices, type TwoServices } from "./services.ts";

/** Stories, each with the state that clients cause and the state that the service reaches alone. */
const CONVERSATIONS = [
  ...[pythonClient, n8n, kodosumi, marketplace].map((talk) => ({
    talk,
    asked: "ResultSubmitted",
    ends: "Withdrawn",
  })),
  { talk: marketplaceRefund, asked: "RefundRequested", ends: "RefundWithdrawn" },
];

/** After which both parties of an escrow may act again. */
const COOLED_MS = 15 * MINUTE;

let pair: TwoServices | undefined;

beforeAll(async () => {
  pair = await startTwoServices();
});
afterAll(() => pair?.close());

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

it("both follow each escrow that clients of either spelling make, and each life, to its end, by diffs and webhooks", async () => {
  if (!pair) throw new Error("nothing was started");
  const { chain, services, mineEvery } = pair;
  const [first, second] = services;
  const pairs: [Parties, Parties] = [
    { chain, seller: first, buyer: second },
    { chain, seller: second, buyer: first },
  ];
  const talks = pairs.flatMap((parties) =>
    CONVERSATIONS.map(async ({ talk, ...states }) => ({
      ...parties,
      ...states,
      identifier: await talk(parties),
    })),
  );
  const begun = Object.entries(ESCROW_STORIES).map(async ([name, life]) => {
    const escrow = await life.opens(name, pairs[0]);
    await life.begins?.(escrow);
    return { life, escrow };
  });
  const escrows = await Promise.all(talks);
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

  const lives = await Promise.all(begun);
  for (const { life, escrow } of lives) await life.isDisturbed?.(escrow, mineEvery);
  chain.moveTo(chain.now() + COOLED_MS);
  await Promise.all(lives.map(({ life, escrow }) => life.goesOn?.(escrow)));

  // The receipt: both services pay out once the time to dispute is over.
  const last = Math.max(
    ...(await Promise.all(
      escrows.map(async ({ seller, identifier, asked }) =>
        Number((await followed(seller, "payment", identifier, asked)).unlockTime),
      ),
    )),
  );
  chain.moveTo(last + 2 * MINUTE);
  await Promise.all(lives.map(({ life, escrow }) => life.isLate?.(escrow)));
  const ending = [
    ...escrows,
    ...lives.map(({ life, escrow }) => ({
      ...escrow.parties,
      identifier: escrow.identifier,
      ends: life.ends,
    })),
  ];
  for (const { seller, buyer, identifier, ends } of ending) {
    const payment = await followed(seller, "payment", identifier, ends);
    const purchase = await followed(buyer, "purchase", identifier, ends);
    expect(purchase.CurrentTransaction).toMatchObject({
      txHash: (payment.CurrentTransaction as { txHash: string }).txHash,
      status: "Confirmed",
    });
  }
  for (const { life, escrow } of lives) await life.isOver?.(escrow);
});
