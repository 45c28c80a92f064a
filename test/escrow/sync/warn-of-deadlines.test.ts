import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { createSource, settle } from "../../support/sources/sync.ts";
import { expectDeclared, holdEventsToTheDocument } from "../../support/webhooks/declared.ts";

holdEventsToTheDocument();
beforeEach(emptyTables);

const MINUTE = 60_000;

interface Near {
  kind: string;
  data: { onChainState: string | null; Deadline: { step: string; time: string } };
}

/** What was told of deadlines, in order. */
async function told(): Promise<Near[]> {
  const { results } = await env.DB.prepare(
    "SELECT kind, data FROM event WHERE kind GLOB '*DEADLINE_NEAR' ORDER BY id",
  ).all<{ kind: string; data: string }>();
  return results.map(({ kind, data }) => ({ kind, data: JSON.parse(data) }));
}

it("PAYMENT_DEADLINE_NEAR tells once, by the chain's time, of a result that is owed", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const submitResultTime = String(Date.now() + 60 * MINUTE);
  await chain.act([
    { do: "lock", as: "late", version: "Web3ChainV1", submitResultTime },
    { do: "lock", as: "done", version: "Web3ChainV1", submitResultTime },
    { do: "submitResult", on: "done" },
  ]);
  await settle(chain, source);
  expect(await told()).toEqual([]);
  await chain.advance(31 * MINUTE);
  await chain.mine();
  for (let pass = 0; pass < 2; pass++) await settle(chain, source);
  expect(await told()).toMatchObject([
    {
      kind: "PAYMENT_DEADLINE_NEAR",
      data: {
        onChainState: "FundsLocked",
        Deadline: { step: "SubmitResult", time: new Date(Number(submitResultTime)).toISOString() },
      },
    },
  ]);
  await chain.advance(60 * MINUTE);
  await chain.mine();
  await settle(chain, source);
  expect(await told()).toHaveLength(1);
});

it("PURCHASE_DEADLINE_NEAR tells of a lock that is not done, and not when it is too late", async () => {
  const buying = await PaymentSourceFixture.open();
  await buying.buy();
  await buying.sync();
  await buying.chain.advance(45 * MINUTE);
  await buying.chain.mine();
  await buying.sync();
  expect(await told()).toMatchObject([
    {
      kind: "PURCHASE_DEADLINE_NEAR",
      data: { onChainState: null, Deadline: { step: "FundsLocking" } },
    },
  ]);
  await expectDeclared();
  await env.DB.prepare("DELETE FROM event").run();
  await env.DB.prepare("UPDATE escrow SET deadline = 1, last_deadline_warning = NULL").run();
  await buying.chain.advance(60 * MINUTE);
  await buying.chain.mine();
  await buying.sync();
  expect(await told()).toEqual([]);
  const left = env.DB.prepare("SELECT count(*) AS n FROM escrow WHERE deadline IS NOT NULL");
  expect(await left.first("n")).toBe(0);
});
