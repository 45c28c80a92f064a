/** Wallets that hold little, or little of use, and what they make of it. */
import { beforeEach, describe, expect, it } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import {
  PaymentSourceFixture,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";
import type { Shown } from "../../support/escrow/quote-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { found, RegistrationFixture } from "../../support/registry/registration-fixture.ts";
import { settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

interface ShownUtxo {
  tx_hash: string;
  output_index: number;
  amount: { unit: string; quantity: string }[];
}

const outputsAt = (chain: PaymentSourceFixture["chain"], address: string) =>
  chain.get<ShownUtxo[]>(`/addresses/${address}/utxos`);

const nameOf = ({ tx_hash, output_index }: ShownUtxo) => `${tx_hash}#${output_index}`;

/** How many different tokens these outputs hold. */
const tokensIn = (outputs: readonly ShownUtxo[]) =>
  new Set(outputs.flatMap(({ amount }) => amount.slice(1).map(({ unit }) => unit))).size;

/** Native minor units: what the ledger wants an output to hold, and little more. */
const DUST = 1_300_000;
/** The least that can be sent to anybody. */
const LEAST = 2_000_000n;
/** After every time of an escrow, in milliseconds. */
const AFTER_ALL = 15 * 3_600_000;
/** Events about missing funds before there are enough. */
const MAX_EVENTS = 1;

/** The seller of an escrow, whose wallet holds some outputs and tokens, and whoever helps out. */
class PoorSeller {
  readonly fixture: RegistrationFixture;
  readonly #identifier: string;

  private constructor(fixture: RegistrationFixture, identifier: string) {
    this.fixture = fixture;
    this.#identifier = identifier;
  }

  /** @param tokens - outputs of one token each, beside those of the native coin */
  static async open(type: PaymentSourceType, sellerFunds: number[], tokens: number) {
    const fixture = await RegistrationFixture.open({ type, sellerFunds });
    const { chain } = fixture;
    const seller = new PoorSeller(fixture, await lockFor(fixture, type));
    if (tokens === 0) return seller;
    const [minted] = await chain.act([
      {
        ...{ do: "mintAll", version: "Web3ChainV1", rules: "open", holder: "seller-1" },
        tokens: Array.from({ length: tokens }, () => ({})),
      },
    ]);
    for (const unit of minted?.units ?? []) await seller.send(LEAST, [{ unit, quantity: "1" }]);
    return seller;
  }

  get address(): string {
    return this.fixture.sellers[0].address;
  }

  /** The other seller sends something. */
  async send(coin: bigint, assets?: { unit: string; quantity: string }[]): Promise<void> {
    const [, rich] = this.fixture.sellers;
    const { status, message } = await this.fixture.ask("POST", "/wallet/transfer-funds", {
      ...{ fromWalletAddress: rich.address, toAddress: this.address },
      ...{ minorUnitAmount: String(coin), ...(assets && { assets }) },
    });
    if (status !== 200) throw new Error(message);
    await this.fixture.settle(rich);
  }

  async deliver(): Promise<void> {
    const { status, message } = await this.fixture.ask("POST", "/payment/submit-result", {
      ...{ network: "Preprod", blockchainIdentifier: this.#identifier, submitResultHash: RESULT },
    });
    if (status !== 200) throw new Error(message);
  }

  /** Lets the wallet try at once, and the chain show what comes of it. */
  async try(): Promise<Shown> {
    await this.fixture.skipPauses();
    await this.fixture.work();
    await settle(this.fixture.chain, this.fixture.sourceId);
    const { data } = await this.fixture.ask<{ Payments: Shown[] }>(
      "GET",
      "/payment?network=Preprod",
    );
    return data.Payments[0];
  }

  /** What the wallet says holds it up. */
  async heldUp(): Promise<string | null> {
    const path = `/wallet/list?walletVkey=${this.fixture.sellers[0].vkey}`;
    const { data } = await this.fixture.ask<{ Wallets: Shown[] }>("GET", path);
    return data.Wallets[0].HeldUp?.reason ?? null;
  }
}

/** Somebody buys from the first seller. @returns the identifier */
async function lockFor({ chain, sourceId }: RegistrationFixture, version: PaymentSourceType) {
  const [locked] = await chain.act([{ do: "lock", version, buyer: "admin" }]);
  await settle(chain, sourceId);
  return found(locked?.escrows ?? [], () => true).identifier;
}

const SIX_OUTPUTS = Array<number>(6).fill(2_000_000);

/** A buyer with small outputs, which has locked its funds and may take them back. */
async function smallBuyer(
  type: PaymentSourceType,
  funds = SIX_OUTPUTS,
): Promise<PaymentSourceFixture> {
  const buying = await PaymentSourceFixture.open(type, { "buyer-0": funds });
  buying.fixture.bindings = { CHAIN_CLOCK: "tip" };
  await buying.buy();
  await buying.work();
  await buying.sync();
  expect((await buying.only("purchase")).onChainState).toBe("FundsLocked");
  await buying.chain.advance(AFTER_ALL);
  await buying.chain.mine();
  await buying.sync();
  return buying;
}

/** Has the wallet try until nothing changes. @returns the purchase */
async function takenBack(buying: PaymentSourceFixture) {
  await buying.fixture.skipPauses();
  await buying.work();
  await buying.sync();
  return buying.only("purchase");
}

/** What the provider says of a transaction of the purchase. */
async function collateralOf(buying: PaymentSourceFixture): Promise<ShownUtxo[]> {
  const { CurrentTransaction } = await buying.only("purchase");
  const { inputs } = await buying.chain.get<{ inputs: (ShownUtxo & { collateral: boolean })[] }>(
    `/txs/${CurrentTransaction?.txHash}/utxos`,
  );
  return inputs.filter(({ collateral }) => collateral);
}

describe.each(sampled(2, ["Web3ChainV1", "Web3ChainV2"] as const, 1))(
  "A wallet of six outputs of 2 with %s",
  (type) => {
    it("locks a price of 5 and takes it back, with as few outputs as collateral as suffice", async () => {
      const buying = await smallBuyer(type);
      expect(await takenBack(buying)).toMatchObject({
        onChainState: "RefundWithdrawn",
        NextAction: { errorType: null, errorNote: null },
      });
      const { length } = await collateralOf(buying);
      expect(length).toBeGreaterThanOrEqual(1);
      expect(length).toBeLessThanOrEqual(2);
    });

    it("merges its outputs first where the ledger takes one output as collateral", async () => {
      const buying = await smallBuyer(type);
      const { chain } = buying;
      const path = "/epochs/latest/parameters";
      const parameters = await chain.get<Record<string, unknown>>(path);
      const changed = { ...parameters, max_collateral_inputs: 1, collateral_percent: 300 };
      await chain.faults({ match: path, status: 200, body: JSON.stringify(changed) });
      const before = (await walletTransactions()).length;
      expect(await takenBack(buying)).toMatchObject({
        onChainState: "RefundWithdrawn",
        NextAction: { errorType: null, errorNote: null },
      });
      // One that merges, and the refund.
      expect(await walletTransactions()).toHaveLength(before + 2);
      expect(await collateralOf(buying)).toHaveLength(1);
    });
  },
);

describe.each(sampled(2, ["Web3ChainV1", "Web3ChainV2"] as const))("with %s", (type) => {
  it("says on the purchase that a buyer lacks funds to take its own back", async () => {
    const buying = await smallBuyer(type, [7_100_000]);
    const { address } = found(Object.values(buying.buyers), () => true);
    expect((await takenBack(buying)).NextAction).toMatchObject({
      requestedAction: "WithdrawRefundRequested",
      errorType: "InsufficientFunds",
      errorNote: expect.stringContaining(`send them to ${address}`),
    });
  });

  it("a wallet with one output pays for a step with its collateral output", async () => {
    const buying = await PaymentSourceFixture.open(type, { "buyer-0": [14_000_000] });
    const { chain } = buying;
    const { address } = found(Object.values(buying.buyers), () => true);
    const { blockchainIdentifier } = await buying.buy();
    await buying.work();
    await buying.sync();
    const held = await outputsAt(chain, address);
    expect(held).toHaveLength(1);

    await buying.fixture.ask("POST", "/purchase/request-refund", {
      ...{ network: "Preprod", blockchainIdentifier },
    });
    await buying.work();
    await buying.sync();
    const { onChainState, CurrentTransaction } = await buying.only("purchase");
    expect(onChainState).toBe("RefundRequested");
    const { inputs } = await chain.get<{ inputs: (ShownUtxo & { collateral: boolean })[] }>(
      `/txs/${CurrentTransaction?.txHash}/utxos`,
    );
    const own = inputs.filter((one) => held.map(nameOf).includes(nameOf(one)));
    expect(own.map(({ collateral }) => collateral).toSorted()).toEqual([false, true]);
  });

  it.each<[what: string, funds: number[], tokens: number]>([
    ["dust", Array(8).fill(DUST), 0],
    ["tokens", [], 2],
  ])(
    "a wallet with nothing but %s pays for a step, with several outputs as collateral",
    async (_, funds, tokens) => {
      const seller = await PoorSeller.open(type, funds, tokens);
      await seller.deliver();
      expect(await seller.try()).toMatchObject({
        onChainState: "ResultSubmitted",
        NextAction: { errorType: null, errorNote: null },
      });
      expect(await seller.heldUp()).toBeNull();
      expect(tokensIn(await outputsAt(seller.fixture.chain, seller.address))).toBe(tokens);
    },
  );

  it.each<[what: string, funds: number[], tokens: number]>([
    ["a single output of dust", [DUST], 0],
    ["one token", [], 1],
  ])(
    "a wallet with nothing but %s reports what it lacks, including the collateral, and that amount is enough",
    async (_, funds, tokens) => {
      const seller = await PoorSeller.open(type, funds, tokens);
      await seller.deliver();
      let payment = await seller.try();
      const told: string[] = [];
      while (payment.onChainState !== "ResultSubmitted" && told.length < MAX_EVENTS) {
        const { errorNote } = payment.NextAction;
        const [, missing = "", to] =
          /lacks (\d+) minor units of the native coin(?: in one output, as collateral)?: send them to (\S+), and SubmitResult continues/.exec(
            errorNote,
          ) ?? [];
        expect(to).toBe(seller.address);
        told.push((await seller.heldUp()) ?? "");
        expect(errorNote.includes("collateral")).toBe(told.at(-1)?.includes("collateral"));
        expect(told.at(-1)).toContain(`${missing} minor units`);
        await seller.send(BigInt(missing) > LEAST ? BigInt(missing) : LEAST);
        payment = await seller.try();
      }
      expect(told.at(-1)).toMatch(/^the wallet has no collateral: .* in one output to /);
      expect(payment).toMatchObject({
        onChainState: "ResultSubmitted",
        NextAction: { errorType: null, errorNote: null },
      });
      expect(await seller.heldUp()).toBeNull();
      expect(tokensIn(await outputsAt(seller.fixture.chain, seller.address))).toBe(tokens);
    },
  );
});
