import { env } from "cloudflare:workers";
import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import { askFor } from "../sources/wants.ts";
import { PaymentSourceFixture, storedRecords } from "./payment-source-fixture.ts";
import { HOUR } from "./quote-fixture.ts";

export const RESULT = "ab".repeat(32);

/** A proposal as the API shows it, as far as tests look. */
export interface ShownProposal {
  id: string;
  state: string;
  message: string;
  unsignedTxCbor: string | null;
  missingSignatures: number;
  SignedBy: string[];
  txHash: string | null;
}

export const native = (amount: bigint) => [{ unit: "", amount: String(amount) }];

/** Has the payment source say who settles disputes: one administrator with all three places. */
export async function nameAdministrator(): Promise<void> {
  const places = [0, 1, 2].map((order) => ({ walletAddress: ADMIN.address, order }));
  await env.DB.prepare("UPDATE payment_source SET admin_wallets = ?, required_admin_signatures = 2")
    .bind(JSON.stringify(places))
    .run();
}

/** A service with one escrow that both sides dispute, and an administrator with all three places. */
export class DisputeFixture {
  readonly buying: PaymentSourceFixture;
  readonly blockchainIdentifier: string;
  /** All that is locked, native minor units. */
  readonly held: bigint;

  private constructor(buying: PaymentSourceFixture, blockchainIdentifier: string, held: bigint) {
    this.buying = buying;
    this.blockchainIdentifier = blockchainIdentifier;
    this.held = held;
  }

  /** @param payee - the address that both parties are paid at; left out: each at its own */
  static async open(
    type: "Web3ChainV1" | "Web3ChainV2",
    payee: string | null = null,
  ): Promise<DisputeFixture> {
    const buying = await PaymentSourceFixture.open(type);
    await nameAdministrator();
    await buying.buy(
      { ...(payee !== null && { sellerReturnAddress: payee }) },
      { buyerReturnAddress: payee },
    );
    await buying.work();
    await buying.sync();
    await askFor("payment", "SubmitResult", RESULT);
    await buying.fixture.work();
    await buying.sync();
    await askFor("purchase", "SetRefundRequested");
    await buying.fixture.skipPauses();
    await buying.work();
    await buying.sync();
    const [record] = await storedRecords("purchase");
    if (record?.state.onChainState !== "Disputed") throw new Error("the escrow is not disputed");
    const held = BigInt(record.output?.value[0]?.amount ?? 0);
    return new DisputeFixture(buying, record.blockchainIdentifier, held);
  }

  get fixture() {
    return this.buying.fixture;
  }

  /** Lets hours pass on the chain. */
  async later(hours: number): Promise<void> {
    await this.buying.chain.advance(hours * HOUR);
    await this.buying.chain.mine();
  }

  /** Runs all wallets of the source once, for any of them may pay for a settlement. */
  async work(): Promise<void> {
    for (const seller of this.fixture.sellers) await this.fixture.work(seller);
    await this.buying.work();
  }

  drive(drives: "nothing" | "all") {
    return this.fixture.ask("PATCH", "/payment-source-extended", {
      id: this.fixture.sourceId,
      drives,
    });
  }

  /** Proposes what the buyer gets; the seller gets the rest. */
  propose(buyer: bigint, more: object = {}) {
    return this.fixture.ask<ShownProposal>("POST", "/dispute/proposal", {
      ...{ network: "Preprod", blockchainIdentifier: this.blockchainIdentifier },
      ...{ BuyerFunds: native(buyer), SellerFunds: native(this.held - buyer), ...more },
    });
  }

  withdraw(proposalId: string) {
    const body = { network: "Preprod", proposalId };
    return this.fixture.ask<ShownProposal>("DELETE", "/dispute/proposal", body);
  }

  sign(proposalId: string, answered: object) {
    const body = { network: "Preprod", proposalId, ...answered };
    return this.fixture.ask<ShownProposal>("POST", "/dispute/signature", body);
  }

  async disputes() {
    const { data } = await this.fixture.ask<{
      Disputes: { Proposal: ShownProposal | null; [field: string]: unknown }[];
    }>("GET", "/dispute?network=Preprod");
    return data.Disputes;
  }

  /** The proposal that the list shows. */
  async proposal(): Promise<ShownProposal | null | undefined> {
    return (await this.disputes())[0]?.Proposal;
  }
}
