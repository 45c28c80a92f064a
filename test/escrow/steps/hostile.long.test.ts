/** What the other party may put on the chain, where no contract stops it, and what can still be done then. */
import { beforeEach, describe, expect, it } from "vitest";
import { FEE_PERMILLE } from "../../../devnet/contracts/terms.ts";
import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { publishNeededScripts } from "../../../src/payment-sources/reference-script/publish-needed-scripts.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import {
  nameAdministrator,
  native,
  type ShownProposal,
} from "../../support/escrow/dispute-fixture.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import type { Shown } from "../../support/escrow/quote-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { witnessSet } from "../../support/escrow/witness-set.ts";
import { found } from "../../support/registry/registration-fixture.ts";

const TYPES = sampled(2, ["Web3ChainV1", "Web3ChainV2"] as const, 1);

beforeEach(emptyTables);

const MINUTE = 60_000;
/** Tokens that a transaction has room to mint, and how often, for a hundred. */
const MINTED_AT_ONCE = 20;
const MINTS = 5;
/** The stranger to the service, who has nothing good in mind. */
const HOSTILE = "admin";
const NEVER = String(2n ** 70n);
/** As many bytes as a transaction without the script has room for: all its 16 KB, but for the rest of it. */
const FULL = 14_200;
/** Rounds of the wallets until everything is where it gets: the first tells what is missing. */
const ROUNDS = 4;

/** Funds as the local chain's API accepts them. */
interface Funds {
  unit: string;
  amount: string;
}

/**
 * How a hostile party leaves an escrow, which step a client then requests, and the resulting state.
 */
interface Row {
  lock?: object;
  move?: object;
  ask: "payment/submit-result" | "purchase/request-refund";
  leadsTo: string;
}

/** Of a token, so that the protocol's fee takes some. */
const MANY = "40";
/** Native minor units that hold as large an escrow. */
const RICH = "100000000";
const byItsSeller = {
  lock: { seller: HOSTILE, funds: [{ unit: "", amount: RICH }] },
  ask: "purchase/request-refund",
} as const;
/** What a hundred tokens take, and little more. */
const POOR = "30000000";
/** After every time of an escrow. */
const AFTER_ALL = 15 * 60 * MINUTE;
const LARGEST = { do: "submitResult", resultHash: "ab".repeat(FULL), isScriptRead: true };
const byItsBuyer = { ask: "payment/submit-result" } as const;
const disputed = { leadsTo: "Disputed" };

/** @param tokens - a hundred that nobody else knows */
const rowsOf = (tokens: readonly Funds[]): Record<string, Row> => ({
  "a result of 3 KB": {
    ...byItsSeller,
    ...disputed,
    move: { do: "submitResult", resultHash: "ab".repeat(3_000), isScriptRead: true },
  },
  "a result of 16 KB": {
    ...byItsSeller,
    ...disputed,
    move: LARGEST,
  },
  "a seller's cooldown of 2^70": {
    ...byItsSeller,
    ...disputed,
    move: { do: "submitResult", datum: { sellerCooldownTime: NEVER } },
  },
  "a buyer's cooldown of 2^70": {
    ...byItsBuyer,
    ...disputed,
    lock: { buyer: HOSTILE },
    move: { do: "requestRefund", datum: { buyerCooldownTime: NEVER } },
  },
  "a hundred tokens that nobody knows": {
    ...byItsBuyer,
    lock: {
      buyer: HOSTILE,
      funds: [{ unit: "", amount: POOR }, ...tokens],
    },
    leadsTo: "ResultSubmitted",
  },
  "no more than the ledger wants to hold it": {
    ...byItsBuyer,
    lock: { buyer: HOSTILE, funds: [{ unit: "", amount: "4400000" }] },
    leadsTo: "ResultSubmitted",
  },
});

/** @returns tokens that nobody else knows, a hundred unless it says otherwise, in somebody's wallet */
async function mintedTo(
  chain: PaymentSourceFixture["chain"],
  amount: string,
  { mints = MINTS, holder = HOSTILE }: { mints?: number | undefined; holder?: string } = {},
): Promise<Funds[]> {
  const mint = {
    ...{ do: "mintAll", version: "Web3ChainV1", rules: "open", holder },
    tokens: Array.from({ length: MINTED_AT_ONCE }, () => ({ quantity: amount })),
  };
  const minted = await chain.act(Array.from({ length: mints }, () => mint));
  return minted.flatMap(({ units }) => units ?? []).map((unit) => ({ unit, amount }));
}

interface Stuffed {
  /** How often tokens are minted for it. Default: for a hundred. */
  mints?: number;
  /** Of each token. */
  each: string;
  buyer?: string;
}

/** A seller that has submitted the result of a job for which somebody has locked many tokens. */
async function stuffed(version: PaymentSourceType, { mints, each, buyer = HOSTILE }: Stuffed) {
  const buying = await PaymentSourceFixture.open(version, { "buyer-0": [1e9, 1e9] });
  const { chain, fixture } = buying;
  fixture.bindings = { CHAIN_CLOCK: "tip" };
  const tokens = await mintedTo(chain, each, { mints, holder: buyer });
  const funds = [{ unit: "", amount: POOR }, ...tokens];
  const [locked] = await chain.act([{ do: "lock", version, as: "a", buyer, funds }]);
  const { identifier } = found(locked?.escrows ?? [], () => true);
  await buying.sync();
  const noted = async () => (await buying.only("payment")).NextAction.errorNote;
  const ask = async (step: string, more: object = {}) => {
    const named = { network: "Preprod", blockchainIdentifier: identifier };
    const asked = await fixture.ask<Shown>("POST", `/${step}`, { ...named, ...more });
    expect([step, asked.status, asked.message]).toEqual([step, 200, ""]);
    return asked.data;
  };
  const atOnce = await noted();
  const { Warnings } = await ask("payment/submit-result", { submitResultHash: RESULT });
  await go(buying);
  return { buying, tokens, ask, told: [atOnce, ...Warnings, await noted()] };
}

/** Lets both wallets do what they have to, and the chain show it. */
async function go(buying: PaymentSourceFixture): Promise<void> {
  await buying.fixture.skipPauses();
  await buying.fixture.work();
  await buying.work();
  await buying.sync();
}

async function goAfterAll(buying: PaymentSourceFixture): Promise<void> {
  await buying.chain.advance(AFTER_ALL);
  await buying.chain.mine();
  await buying.sync();
  await go(buying);
}

/** What a transaction has paid an address, by unit. */
async function paidBy(chain: PaymentSourceFixture["chain"], txHash = "", to: string) {
  const { outputs } = await chain.get<{
    outputs: {
      address: string;
      collateral: boolean;
      amount: { unit: string; quantity: string }[];
    }[];
  }>(`/txs/${txHash}/utxos`);
  const paid = new Map<string, bigint>();
  for (const { address, collateral, amount } of outputs)
    if (address === to && !collateral)
      for (const { unit, quantity } of amount)
        paid.set(unit, (paid.get(unit) ?? 0n) + BigInt(quantity));
  return paid;
}

describe("an escrow with tokens that nobody knows", () => {
  it.each<[many: string, PaymentSourceType, Stuffed]>([
    ["a hundred, of each too few for a fee", "Web3ChainV1", { each: "1" }],
    ["forty, with the protocol's fee of each", "Web3ChainV1", { mints: 2, each: MANY }],
    ["a hundred", "Web3ChainV2", { each: MANY }],
  ])("%s, is withdrawn at its time (%s)", async (_, version, how) => {
    const { buying, tokens, told } = await stuffed(version, how);
    const { chain, fixture } = buying;
    expect(told.filter((one) => / more memory than /.test(one ?? ""))).toEqual([]);
    await goAfterAll(buying);
    const { onChainState, CurrentTransaction } = await buying.only("payment");
    expect(onChainState).toBe("Withdrawn");
    const toSeller = await paidBy(chain, CurrentTransaction?.txHash, fixture.sellers[0].address);
    const toProtocol = await paidBy(chain, CurrentTransaction?.txHash, ADMIN.address);
    const permille = version === "Web3ChainV1" ? BigInt(FEE_PERMILLE) : 0n;
    for (const { unit, amount } of tokens) {
      const fee = (BigInt(amount) * permille) / 1000n;
      expect([toProtocol.get(unit) ?? 0n, toSeller.get(unit)]).toEqual([fee, BigInt(amount) - fee]);
    }
    expect((toProtocol.get("lovelace") ?? 0n) >= (BigInt(POOR) * permille) / 1000n).toBe(true);
  });

  it("whose fees do not fit in a transaction reports this at once, and again at the time of the withdrawal", async () => {
    const { buying, told } = await stuffed("Web3ChainV1", { each: MANY });
    const tooMany = expect.stringMatching(/holds 100 tokens, .* Do no work for this escrow$/);
    expect(told).toEqual([tooMany, ...told.slice(1, -2), tooMany, tooMany]);
    await goAfterAll(buying);
    expect(await buying.only("payment")).toMatchObject({
      onChainState: "ResultSubmitted",
      NextAction: {
        requestedAction: "WithdrawRequested",
        errorNote: expect.stringMatching(/ use \d+ units of memory, at most \d+ are allowed/),
      },
    });
  });

  it("whose fees do not fit in a transaction is refunded all the same", async () => {
    const { buying, tokens, ask } = await stuffed("Web3ChainV1", { each: MANY, buyer: "buyer-0" });
    await ask("purchase/request-refund");
    await go(buying);
    await ask("payment/authorize-refund");
    await go(buying);
    await goAfterAll(buying);
    const { onChainState, CurrentTransaction } = await buying.only("purchase");
    expect(onChainState).toBe("RefundWithdrawn");
    const { address } = found(Object.values(buying.buyers), () => true);
    const toBuyer = await paidBy(buying.chain, CurrentTransaction?.txHash, address);
    for (const { unit, amount } of tokens) expect(toBuyer.get(unit)).toBe(BigInt(amount));
  });
});

describe.each(TYPES)("an escrow of %s", (version) => {
  it("that a hostile party has made large, poor or slow can be moved by the other one, who is told at once what that takes", async () => {
    const buying = await PaymentSourceFixture.open(version);
    const { chain, fixture } = buying;
    const rows = Object.entries(rowsOf(await mintedTo(chain, "1")));
    const identifiers = new Map<string, string>();
    for (const [name, { lock, move }] of rows) {
      const [locked] = await chain.act([{ do: "lock", as: name, version, ...lock }]);
      identifiers.set(name, locked?.escrows[0]?.identifier ?? "");
      if (move) await chain.act([{ ...move, on: name }]);
    }
    await buying.sync();

    for (const [name, { ask }] of rows) {
      const { status, message, data } = await fixture.ask<Shown>("POST", `/${ask}`, {
        ...{ network: "Preprod", blockchainIdentifier: identifiers.get(name) },
        ...(ask === "payment/submit-result" && { submitResultHash: RESULT }),
      });
      expect([name, status, message]).toEqual([name, 200, ""]);
      if (name === "a result of 16 KB")
        expect(data.Warnings).toEqual([
          expect.stringMatching(/^request-refund: the escrow is so large .* script on the chain/),
        ]);
      if (name === "a seller's cooldown of 2^70") expect(data.Warnings).toEqual([]);
    }
    /** Of each row that has not got where it leads yet, what its record says is missing. */
    const missing = async () => {
      const sides = {
        payment: await buying.shown("payment"),
        purchase: await buying.shown("purchase"),
      };
      return rows.flatMap(([name, { ask, leadsTo }]) => {
        const side = ask === "payment/submit-result" ? "payment" : "purchase";
        const found = sides[side].find((one) => one.blockchainIdentifier === identifiers.get(name));
        return found?.onChainState === leadsTo ? [] : [[name, found?.NextAction.errorNote ?? null]];
      });
    };
    const told: unknown[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await fixture.skipPauses();
      await fixture.work();
      await buying.work();
      await buying.sync();
      told.push(await missing());
      await publishNeededScripts(fixture.env(), "test", Date.now() + MINUTE);
    }
    // The wallets move all escrows but the largest at once. The largest gets an automatic script
    // first.
    expect(told[0]).toEqual([
      ["a result of 16 KB", expect.stringMatching(/ bytes, at most 16384 .*reference script/)],
    ]);
    expect(told.at(-1)).toEqual([]);
  });

  it("with a result of 16 KB is settled by its administrators", async () => {
    const buying = await PaymentSourceFixture.open(version);
    const { chain, fixture } = buying;
    fixture.bindings = { CHAIN_CLOCK: "tip" };
    await nameAdministrator();
    const [locked] = await chain.act([{ do: "lock", as: "a", version, ...byItsSeller.lock }]);
    await chain.act([{ ...LARGEST, on: "a" }]);
    await buying.sync();
    const blockchainIdentifier = locked?.escrows[0]?.identifier;
    const named = { network: "Preprod", blockchainIdentifier };
    await fixture.ask("POST", "/purchase/request-refund", named);
    for (let round = 0; round < ROUNDS; round++) {
      await go(buying);
      await publishNeededScripts(fixture.env(), "test", Date.now() + MINUTE);
    }
    expect((await buying.only("purchase")).onChainState).toBe("Disputed");

    await chain.advance(AFTER_ALL);
    await chain.mine();
    await buying.sync();
    const half = native(BigInt(RICH) / 2n);
    const { data, message } = await fixture.ask<ShownProposal>("POST", "/dispute/proposal", {
      ...{ ...named, BuyerFunds: half, SellerFunds: half },
    });
    expect(message).toBe("");
    const signed =
      data.unsignedTxCbor === null
        ? signCoseSign1(hexToBytes(data.message), ADMIN.keys)
        : { signature: witnessSet(data.message, ADMIN.keys) };
    const signing = { network: "Preprod", proposalId: data.id, ...signed };
    expect(await fixture.ask("POST", "/dispute/signature", signing)).toMatchObject({
      status: 200,
      data: { missingSignatures: 0 },
    });
    for (const seller of fixture.sellers) await fixture.work(seller);
    await go(buying);
    expect(await buying.only("purchase")).toMatchObject({
      onChainState: "DisputedWithdrawn",
      NextAction: { requestedAction: "None", errorType: null },
      WithdrawnForBuyer: half,
      WithdrawnForSeller: half,
    });
  });
});
