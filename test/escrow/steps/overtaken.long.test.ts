import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import type { ShownEscrow } from "../../support/escrow/payment-source-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { RegistrationFixture } from "../../support/registry/registration-fixture.ts";
import { settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
const BLOCK_MS = 20_000;
const ESCROWS = 60;
/** As many datums of Web3ChainV1 as a transaction has room for. */
const LOCKS_AT_ONCE = 15;
/** The nodes that the two sides speak to. */
const BUYERS_NODE = 0;
const SELLERS_NODE = 1;

/** Which escrow each of a wallet's transactions steps, by its hash. */
async function steppedBy(): Promise<Map<string, string>> {
  const { results } = await env.DB.prepare(
    `SELECT tx_hash, lower(hex(blockchain_identifier)) AS identifier FROM escrow_transaction t JOIN escrow e ON e.id = record_id
     WHERE t.intent IS NOT NULL`,
  ).all<{ tx_hash: string; identifier: string }>();
  return new Map(results.map((row) => [row.tx_hash, row.identifier]));
}

it("a hostile buyer who overtakes each third of 60 chained results near the deadline keeps none of them from landing in time", async () => {
  const fixture = await RegistrationFixture.open({
    published: true,
    time: { begins: Date.now(), clock: "stands" },
  });
  fixture.bindings = { CHAIN_CLOCK: "tip" };
  const { chain } = fixture;
  await fixture.ask("POST", "/payment-source-extended/reference-script", { id: fixture.sourceId });
  await fixture.settle();
  let now = await chain.setClock({});
  const submitResultTime = now + 30 * MINUTE;
  const order = {
    version: "Web3ChainV1",
    buyer: "stranger",
    payByTime: String(now + 5 * MINUTE),
    submitResultTime: String(submitResultTime),
  };
  const names = new Map<string, string>();
  for (let from = 0; from < ESCROWS; from += LOCKS_AT_ONCE) {
    const orders = Array.from({ length: LOCKS_AT_ONCE }, (_, i) => ({
      ...order,
      as: `escrow ${from + i}`,
    }));
    const [locked] = await chain.act([{ do: "lockAll", orders }]);
    for (const { identifier, as = "" } of locked?.escrows ?? []) names.set(identifier, as);
  }
  await settle(chain, fixture.sourceId);

  // From now on blocks come as on the network, and each side has a separate node.
  await chain.holdBlocks();
  await chain.faults({ match: "/tx/submit", node: SELLERS_NODE });
  now = submitResultTime - 9 * MINUTE;
  await chain.mine(1, { at: now });
  for (const blockchainIdentifier of names.keys()) {
    const body = { network: "Preprod", blockchainIdentifier, submitResultHash: RESULT };
    expect((await fixture.ask("POST", "/payment/submit-result", body)).status).toBe(200);
  }

  const shown = async (): Promise<ShownEscrow[]> => {
    const { data } = await fixture.ask<{ Payments: ShownEscrow[] }>(
      "GET",
      "/payment?network=Preprod&limit=100",
    );
    return data.Payments;
  };
  /** Those that the buyer has got ahead of, by their identifiers. */
  const overtaken = new Set<string>();
  let payments: ShownEscrow[] = [];
  let sent = 0;
  do {
    await fixture.work();
    const steps = await steppedBy();
    const chained = (await chain.mempool(SELLERS_NODE)).flatMap((hash) => steps.get(hash) ?? []);
    const victims = chained.filter((one) => !overtaken.has(one) && sent++ % 3 === 1);
    for (const one of victims) overtaken.add(one);
    const moves = victims.map((one) => ({ do: "requestRefund", on: names.get(one) }));
    await chain.act(moves.map((move) => ({ ...move, isScriptRead: true })));
    for (const node of [BUYERS_NODE, SELLERS_NODE]) {
      now += BLOCK_MS;
      await chain.mine(1, { at: now, node });
    }
    await settle(chain, fixture.sourceId);
    payments = await shown();
  } while (now < submitResultTime && payments.some(({ resultHash }) => resultHash !== RESULT));

  expect(overtaken.size).toBeGreaterThanOrEqual(ESCROWS / 3);
  const states = payments.map(({ blockchainIdentifier, onChainState, resultHash }) => ({
    ...{ blockchainIdentifier, onChainState, resultHash },
  }));
  expect(states).toEqual(
    payments.map(({ blockchainIdentifier }) => ({
      blockchainIdentifier,
      onChainState: overtaken.has(String(blockchainIdentifier)) ? "Disputed" : "ResultSubmitted",
      resultHash: RESULT,
    })),
  );
});
