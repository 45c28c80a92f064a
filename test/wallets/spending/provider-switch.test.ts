import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { found } from "../../support/registry/registration-fixture.ts";
import {
  expectSameAtEachSwitch,
  forgetOutages,
  type Profile,
  providerAt,
  setProviders,
  type WithFirstProvider,
} from "../../support/sources/provider-list.ts";
import { leftBehind } from "../../support/sources/sync.ts";

/** What a source uses beside its first provider: readers that do not evaluate have Ogmios at hand. */
const LISTS: [Profile, ReturnType<typeof providerAt>["use"]][][] = [
  [["mirror", ["reads", "evaluate", "submit"]]],
  ...(["ryo", "dolos", "platform"] as const).map((profile): (typeof LISTS)[number] => [
    [profile, ["reads"]],
    ["ogmios", ["evaluate", "submit"]],
  ]),
];
/** Runs of a wallet in which it does from the next provider what the first one left undone. */
const TURNS = 5;

let expected: string;

/** A lock, a result, a refund's request and a transfer, each a wallet's transaction in a block. */
async function spend(list: (typeof LISTS)[number], withFirst: WithFirstProvider): Promise<string> {
  await emptyTables();
  const buying = await PaymentSourceFixture.open("Web3ChainV2");
  const { chain, fixture } = buying;
  const { sourceId, sellers } = fixture;
  await forgetOutages(chain, ...list.map(([profile]) => profile));
  await setProviders(
    sourceId,
    list.map((one) => providerAt(chain, ...one)),
  );

  const act = (work: () => Promise<unknown>) =>
    withFirst(async () => {
      for (let turn = 0; turn < TURNS; turn++) {
        await fixture.skipPauses();
        await work();
      }
      await buying.sync();
    });
  const ask = async (path: string, body: object) => {
    const { status, message } = await fixture.ask("POST", path, body);
    if (status !== 200) throw new Error(message);
  };
  const { blockchainIdentifier } = await buying.buy();
  const named = { network: "Preprod", blockchainIdentifier };
  await act(() => buying.work());
  await ask("/payment/submit-result", { ...named, submitResultHash: RESULT });
  await act(() => fixture.work());
  await ask("/purchase/request-refund", named);
  await act(() => buying.work());
  const { wallets } = await chain.wallets();
  await ask("/wallet/transfer-funds", {
    fromWalletAddress: sellers[0].address,
    toAddress: found(wallets, ({ name }) => name === "stranger").address,
    minorUnitAmount: "5000000",
  });
  await act(() => fixture.work());
  return describeRecords(sourceId);
}

/**
 * All records, byte for byte but for ids, hashes and times. A script's fee is left out: it depends on the
 * order of the inputs' hashes. So is why an ended intent waited: for the next provider.
 */
async function describeRecords(sourceId: string): Promise<string> {
  const list = async (sql: string) => (await env.DB.prepare(sql).all()).results;
  const { cursor: _, ...records } = await leftBehind(sourceId);
  const left = {
    ...records,
    transactions: await walletTransactions(),
    places: await list("SELECT block_height, error FROM wallet_transaction ORDER BY sequence"),
    transfers: await list("SELECT state, coin, tx, error FROM transfer"),
    tasks: await list("SELECT feature, attempts, reason FROM wallet_task"),
    blockers: await list("SELECT blocker FROM hot_wallet WHERE blocker IS NOT NULL"),
  };
  const names = new Map<string, string>();
  return JSON.stringify(left, null, 1)
    .replace(/(?:[0-9a-f]{40,}|\b01[0-9a-z]{24})\b/g, (name) => {
      names.set(name, names.get(name) ?? `#${names.size}`);
      return names.get(name) ?? "";
    })
    .replace(/([fF]ees?"): "?[\d.]+"?/g, "$1")
    .replace(/,\s*"reasonCode": "provider"/g, "")
    .replace(/\b1[789]\d{8}(?:\d{3})?\b|\b20\d\d-[\dT:.-]+Z/g, "time");
}

beforeAll(async () => {
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
  expected = await spend([], (part) => part());
  expect(expected).toContain('"requestedAction"');
});

describe("wallets whose first provider stops at any call", () => {
  it.each(LISTS.map((list) => [list.map(([profile]) => profile).join(" and "), list] as const))(
    "make the same records with %s",
    (_, list) =>
      expectSameAtEachSwitch(list[0]?.[0] ?? "mirror", expected, (withFirst) =>
        spend(list, withFirst),
      ),
  );
});
