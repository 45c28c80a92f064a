import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyJournals, emptyTables } from "../support/app.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  requested,
} from "../support/registry/registration.ts";

beforeEach(emptyTables);

/** Leaves the database as the version before wallets kept their transactions had it. */
async function asBefore(): Promise<void> {
  const { results } = await env.DB.prepare("SELECT hash, cbor FROM wallet_transaction").all<{
    hash: string;
    cbor: string | null;
  }>();
  await env.DB.batch([
    ...results.map(({ hash, cbor }) =>
      env.DB.prepare("UPDATE registration SET tx_cbor = ? WHERE tx->>'hash' = ?").bind(
        cbor && Buffer.from(cbor, "base64").toString("hex"),
        hash,
      ),
    ),
    env.DB.prepare("DELETE FROM wallet_transaction"),
    env.DB.prepare("DELETE FROM hot_wallet"),
  ]);
  await emptyJournals();
}

describe("what an earlier version of the service has under way", () => {
  it.each([
    ["a minting that no node has", requested, "Registration", { status: 504 }, MINTED_ONCE],
    ["a minting whose answer was lost", requested, "Registration", { truncate: true }, MINTED_ONCE],
    ["a burning that no node has", deregistering, "Deregistration", { status: 504 }, BURNED_ONCE],
    [
      "a burning whose answer was lost",
      deregistering,
      "Deregistration",
      { truncate: true },
      BURNED_ONCE,
    ],
  ] as const)("is taken over: %s", async (_, begin, name, fault, tokens) => {
    const { desk, id } = await begin();
    await desk.chain.faults({ match: "/tx/submit", ...fault });
    await desk.work();
    const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
    await asBefore();
    await desk.chain.faults();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: `${name}Confirmed`,
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
    expect(await desk.tokens()).toMatchObject(tokens);
  });

  it("is done anew where its validity is over, and never twice when it lands after all", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults(
      { match: "/tx/submit", truncate: true },
      { match: "^/(txs|assets)/", status: 404 },
    );
    await desk.work();
    const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
    await asBefore();
    await desk.chain.advance(15 * 60_000);
    await desk.chain.mine();
    await desk.work();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationRequested" });
    await asBefore();
    await desk.chain.faults();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
    expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
  });
});
