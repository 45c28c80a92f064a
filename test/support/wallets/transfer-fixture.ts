import { env } from "cloudflare:workers";
import { found, RegistrationFixture } from "../registry/registration-fixture.ts";

/** A transfer, as far as tests look. */
export interface ShownTransfer {
  id: string;
  status: "Pending" | "Sent" | "Confirmed" | "Failed";
  txHash: string | null;
  minorUnitAmount: string;
  sentMinorUnitAmount: string | null;
  errorNote: string | null;
  [field: string]: unknown;
}

const PATH = "/wallet/transfer-funds";

/** A wallet that transfers, and those who are paid. */
export class TransferFixture {
  readonly fixture: RegistrationFixture;
  /** Address of the wallet that pays. */
  readonly from: string;
  /** Addresses of nobody whom the service knows. */
  readonly recipients: string[];
  readonly #before: bigint[];

  private constructor(fixture: RegistrationFixture, recipients: string[], before: bigint[]) {
    this.fixture = fixture;
    this.from = fixture.sellers[0].address;
    this.recipients = recipients;
    this.#before = before;
  }

  static async open(
    options: Parameters<typeof RegistrationFixture.open>[0] = {},
  ): Promise<TransferFixture> {
    const fixture = await RegistrationFixture.open(options);
    const { wallets } = await fixture.chain.wallets();
    const recipients = ["stranger", "buyer-3"].map(
      (name) => found(wallets, (one) => one.name === name).address,
    );
    const before = await Promise.all(recipients.map((one) => heldAt(fixture, one, "lovelace")));
    return new TransferFixture(fixture, recipients, before);
  }

  /** Asks for a transfer to the first recipient. */
  send(overrides: object = {}, headers: Record<string, string> = {}) {
    const [toAddress] = this.recipients;
    const body = { fromWalletAddress: this.from, toAddress, minorUnitAmount: "5000000" };
    return this.fixture.ask<ShownTransfer>("POST", PATH, { ...body, ...overrides }, headers);
  }

  async sent(overrides: object = {}): Promise<string> {
    return (await this.send(overrides)).data.id;
  }

  list(query = "limit=100") {
    return this.fixture.ask<{ transfers: ShownTransfer[] }>("GET", `${PATH}?${query}`);
  }

  async shown(id: string): Promise<ShownTransfer> {
    return found((await this.list(`id=${id}`)).data.transfers, (one) => one.id === id);
  }

  async statuses(ids: string[]): Promise<string[]> {
    return Promise.all(ids.map(async (id) => (await this.shown(id)).status));
  }

  /** Native minor units that a recipient has got so far. */
  async received(recipient = 0): Promise<bigint> {
    const held = await heldAt(this.fixture, this.recipients[recipient] ?? "", "lovelace");
    return held - (this.#before[recipient] ?? 0n);
  }

  /** What a recipient holds of a token. */
  holds(unit: string, recipient = 0): Promise<bigint> {
    return heldAt(this.fixture, this.recipients[recipient] ?? "", unit);
  }

  /** Hashes of the wallet's transactions, with the phase that each is in, the oldest first. */
  async transactions(): Promise<{ hash: string; phase: string }[]> {
    const { results } = await env.DB.prepare(
      "SELECT hash, phase FROM wallet_transaction ORDER BY sequence",
    ).all<{ hash: string; phase: string }>();
    return results;
  }
}

async function heldAt(
  { chain }: RegistrationFixture,
  address: string,
  unit: string,
): Promise<bigint> {
  const { amount } = await chain.get<{ amount?: { unit: string; quantity: string }[] }>(
    `/addresses/${address}`,
  );
  return BigInt(amount?.find((one) => one.unit === unit)?.quantity ?? 0);
}
