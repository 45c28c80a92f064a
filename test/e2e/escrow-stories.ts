/** Lives of escrows between two services, each told in parts between which the chain's clock is moved. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { ADMIN, STRANGER } from "../../devnet/demo/actors/wallets.ts";
import { signCoseSign1 } from "../../src/chain/cose.ts";
import { hexToBytes } from "../../src/chain/hex.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { witnessSet } from "../support/escrow/witness-set.ts";
import { expectSuccess, isoIn, MINUTE, type Parties, sha256 } from "./conversations.ts";
import { type Answer, poll, type SoldAgent } from "./services.ts";

const RESULT = sha256("a result");

const SIDES = ["payment", "purchase"] as const;
type Side = (typeof SIDES)[number];

/** What distinguishes a purchase from the usual one. */
interface Order {
  agent?: SoldAgent;
  buyerReturnAddress?: string;
}

/** An escrow between two services, both of which are asked by their operators. */
export class Escrow {
  /** Of its life, for the errors. */
  readonly name: string;
  readonly parties: Parties;
  readonly identifier: string;

  private constructor(name: string, parties: Parties, identifier: string) {
    this.name = name;
    this.parties = parties;
    this.identifier = identifier;
  }

  /** Has a job quoted by one service and bought by the other, until both see it locked. */
  static async open(
    name: string,
    parties: Parties,
    type: PaymentSourceType,
    { agent, ...order }: Order = {},
  ): Promise<Escrow> {
    const { chain, seller, buyer } = parties;
    const { agentIdentifier, sellerVkey } = agent ?? seller.agent(type);
    const common = {
      ...{ network: "Preprod", agentIdentifier, inputHash: sha256("a job") },
      identifierFromPurchaser: randomBytes(10).toString("hex"),
      ...(type === "Web3ChainV2" && { supportedPaymentSourceIndex: 0 }),
    };
    const quote = expectSuccess(
      await seller.call(seller.adminKey, "POST", "/payment", {
        ...common,
        payByTime: isoIn(chain, 30 * MINUTE),
        submitResultTime: isoIn(chain, 60 * MINUTE),
        unlockTime: isoIn(chain, 120 * MINUTE),
        externalDisputeUnlockTime: isoIn(chain, 240 * MINUTE),
      }),
    );
    const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = quote;
    expectSuccess(
      await buyer.call(buyer.adminKey, "POST", "/purchase", {
        ...{ ...common, sellerVkey, blockchainIdentifier: quote.blockchainIdentifier },
        ...{ payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime },
        ...order,
      }),
    );
    const escrow = new Escrow(name, parties, quote.blockchainIdentifier);
    await escrow.reaches("FundsLocked");
    return escrow;
  }

  /** Asks the service of a side for a step. */
  ask(side: Side, step: string): Promise<Answer> {
    const service = side === "payment" ? this.parties.seller : this.parties.buyer;
    return service.call(service.adminKey, "POST", `/${side}/${step}`, {
      network: "Preprod",
      blockchainIdentifier: this.identifier,
      ...(step === "submit-result" && { submitResultHash: RESULT }),
    });
  }

  /** Asks for a step, and waits until both sides see what it leads to. */
  async take(side: Side, step: string, state: string): Promise<void> {
    expectSuccess(await this.ask(side, step));
    await this.reaches(state);
  }

  async reaches(state: string): Promise<void> {
    for (const side of SIDES)
      await this.shows(side, `is ${state}`, ({ onChainState }) => onChainState === state);
  }

  /** Waits until the record of a side says something. */
  // biome-ignore lint/suspicious/noExplicitAny: as of an answer
  async shows(side: Side, what: string, says: (record: any) => boolean): Promise<void> {
    await poll(
      `an escrow ${this.name}: a ${side} that ${what}`,
      () => this.ask(side, "resolve-blockchain-identifier"),
      ({ json }) => says(json.data),
    );
  }

  /** The record of a side. */
  // biome-ignore lint/suspicious/noExplicitAny: as of an answer
  async shown(side: Side): Promise<any> {
    return expectSuccess(await this.ask(side, "resolve-blockchain-identifier"));
  }
}

/** The parts of an escrow's story. The service does every step that a story omits. */
export interface EscrowStory {
  opens(name: string, parties: Parties): Promise<Escrow>;
  /** As soon as it is locked. */
  begins?(escrow: Escrow): Promise<void>;
  /** Alone: what goes on is disturbed. */
  isDisturbed?(escrow: Escrow, mineEvery: (milliseconds: number | null) => void): Promise<void>;
  /** Once the cooldowns are over. */
  goesOn?(escrow: Escrow): Promise<void>;
  /** Once every time of an escrow is over. */
  isLate?(escrow: Escrow): Promise<void>;
  ends: "Withdrawn" | "RefundWithdrawn" | "DisputedWithdrawn";
  /** When it is over. */
  isOver?(escrow: Escrow): Promise<void>;
}

const BLOCK_MS = 500;
const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const of = (type: PaymentSourceType) => (name: string, parties: Parties) =>
  Escrow.open(name, parties, type);

export const ESCROW_STORIES: Record<string, EscrowStory> = {
  "without a result, which comes too late": {
    opens: of(V1),
    ends: "RefundWithdrawn",
    async isOver(escrow) {
      expect((await escrow.ask("payment", "submit-result")).status).toBe(409);
    },
  },
  "whose refund is authorized": {
    opens: of(V2),
    async begins(escrow) {
      await escrow.take("payment", "submit-result", "ResultSubmitted");
      await escrow.take("purchase", "request-refund", "Disputed");
      await escrow.take("payment", "authorize-refund", "RefundWithdrawn");
    },
    ends: "RefundWithdrawn",
  },
  "whose buyer asks for a refund, and takes that back": {
    opens: of(V1),
    begins: (escrow) => escrow.take("purchase", "request-refund", "RefundRequested"),
    async goesOn(escrow) {
      await escrow.take("purchase", "cancel-refund-request", "FundsLocked");
      await escrow.take("payment", "submit-result", "ResultSubmitted");
    },
    ends: "Withdrawn",
  },
  "whose result comes after the request for a refund, and is accepted": {
    opens: of(V2),
    async begins(escrow) {
      await escrow.take("purchase", "request-refund", "RefundRequested");
      await escrow.take("payment", "submit-result", "Disputed");
      await escrow.take("purchase", "cancel-refund-request", "Withdrawn");
    },
    ends: "Withdrawn",
  },
  "whose dispute administrators settle": {
    opens: of(V2),
    async begins(escrow) {
      await escrow.take("payment", "submit-result", "ResultSubmitted");
      await escrow.take("purchase", "request-refund", "Disputed");
      await settle(escrow);
    },
    ends: "DisputedWithdrawn",
  },
  "whose dispute administrators settle by signing a transaction": {
    opens: of(V1),
    async begins(escrow) {
      await escrow.take("payment", "submit-result", "ResultSubmitted");
      await escrow.take("purchase", "request-refund", "Disputed");
    },
    // What is signed is valid for a day from the newest block on, and more than that has passed since.
    async isLate(escrow) {
      escrow.parties.chain.mine();
      await settle(escrow);
    },
    ends: "DisputedWithdrawn",
  },
  "that is refunded to the buyer's return address": {
    opens: (name, parties) =>
      Escrow.open(name, parties, V2, { buyerReturnAddress: STRANGER.address }),
    ends: "RefundWithdrawn",
    async isOver(escrow) {
      const { CurrentTransaction } = await escrow.shown("purchase");
      const paid = escrow.parties.chain.utxosAt(STRANGER.address).map(({ txHash }) => txHash);
      expect(paid).toContain(CurrentTransaction.txHash);
    },
  },
  "that is paid in another currency": {
    async opens(name, parties) {
      const { priced: agent } = parties.seller;
      if (!agent) throw new Error("no agent has another price");
      return Escrow.open(name, parties, V2, { agent });
    },
    begins: (escrow) => escrow.take("payment", "submit-result", "ResultSubmitted"),
    ends: "Withdrawn",
  },
  "whose result is rolled back": {
    opens: of(V1),
    async isDisturbed(escrow, mineEvery) {
      const { chain } = escrow.parties;
      mineEvery(null);
      expectSuccess(await escrow.ask("payment", "submit-result"));
      await escrow.shows(
        "payment",
        "waits for a block",
        ({ NextAction, CurrentTransaction }) =>
          NextAction.requestedAction === "SubmitResultInitiated" &&
          chain.mempool().includes(CurrentTransaction.txHash),
      );
      chain.mine();
      await escrow.reaches("ResultSubmitted");
      chain.rollback(1);
      chain.mine();
      await escrow.reaches("FundsLocked");
      mineEvery(BLOCK_MS);
      await escrow.reaches("ResultSubmitted");
    },
    ends: "Withdrawn",
  },
  "whose buyer's service is stopped meanwhile": {
    opens: of(V2),
    async isDisturbed(escrow) {
      await escrow.parties.buyer.whileStopped(async () => {
        expectSuccess(await escrow.ask("payment", "submit-result"));
        await escrow.shows(
          "payment",
          "has its result",
          ({ onChainState }) => onChainState === "ResultSubmitted",
        );
      });
      await escrow.reaches("ResultSubmitted");
    },
    ends: "Withdrawn",
  },
};

/** Divides what a dispute is about, as its administrators agree. */
async function settle({ parties: { seller }, identifier }: Escrow): Promise<void> {
  const network = "Preprod";
  const { Disputes } = expectSuccess(
    await seller.call(seller.adminKey, "GET", "/dispute", { network }),
  );
  const dispute = Disputes.find(
    (one: { blockchainIdentifier: string }) => one.blockchainIdentifier === identifier,
  );
  const [held] = dispute.Funds;
  const buyer = 3_000_000n;
  const native = (amount: bigint) => [{ unit: "", amount: String(amount) }];
  const proposal = expectSuccess(
    await seller.call(seller.adminKey, "POST", "/dispute/proposal", {
      ...{ network, blockchainIdentifier: identifier },
      ...{ BuyerFunds: native(buyer), SellerFunds: native(BigInt(held.amount) - buyer) },
    }),
  );
  const signed =
    proposal.unsignedTxCbor === null
      ? signCoseSign1(hexToBytes(proposal.message), ADMIN.keys)
      : { signature: witnessSet(proposal.message, ADMIN.keys) };
  const agreed = expectSuccess(
    await seller.call(seller.adminKey, "POST", "/dispute/signature", {
      ...{ network, proposalId: proposal.id, ...signed },
    }),
  );
  expect(agreed.missingSignatures).toBe(0);
}
