import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { SettlementFixture } from "../settlement-fixture.ts";
import { api, expectOk, settle, untilDecided } from "../x402-fixture.ts";

interface Wallet {
  id: string;
  address: string;
}
interface Network {
  facilitatorWalletId: string | null;
  facilitatorWalletIds: string[];
}

let fixture: SettlementFixture;
/** The first one is the fixture's. */
let wallets: [Wallet, Wallet, Wallet];

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-facilitators");
  wallets = [fixture.x402.facilitator, await newWallet(), await newWallet()];
});
afterEach(() => vi.unstubAllGlobals());

async function newWallet(type = "Selling"): Promise<Wallet> {
  const body = { caip2Network: fixture.x402.caip2, type };
  const wallet = await expectOk(await api<Wallet>("/x402/wallets", body));
  await fixture.x402.fund(wallet.address);
  return wallet;
}

const change = (body: object) =>
  api<Network>("/x402/networks", { caip2Id: fixture.x402.caip2, ...body });

/** Who sent the transactions in which the payee got something. */
async function senders(): Promise<string[]> {
  const hashes = await fixture.paidIn();
  const sent = hashes.map((hash) =>
    fixture.x402.rpc<{ from: string }>("eth_getTransactionByHash", hash),
  );
  return (await Promise.all(sent)).map(({ from }) => from);
}

describe("the facilitator wallets of a network", () => {
  it("begin with the one that alone can be named, which keeps the others", async () => {
    const [a, b, c] = wallets.map(({ id }) => id);
    const changed = async (body: object) => {
      const { facilitatorWalletId, facilitatorWalletIds } = await expectOk(await change(body));
      return [facilitatorWalletId, facilitatorWalletIds];
    };
    expect(await changed({})).toEqual([a, [a]]);
    expect(await changed({ facilitatorWalletIds: [a, b] })).toEqual([a, [a, b]]);
    expect(await changed({ facilitatorWalletId: c })).toEqual([c, [c, b]]);
    expect(await changed({ facilitatorWalletId: b })).toEqual([b, [b]]);
    expect(await changed({ facilitatorWalletIds: [c, a], facilitatorWalletId: c })).toEqual([
      c,
      [c, a],
    ]);
    expect(await changed({ facilitatorWalletId: null })).toEqual([null, []]);
    expect(await changed({ facilitatorWalletId: b })).toEqual([b, [b, a]]);
    expect(await changed({ facilitatorWalletIds: [] })).toEqual([null, []]);
    const { Networks } = await expectOk(await api<{ Networks: Network[] }>("/x402/networks"));
    expect(Networks).toMatchObject([{ facilitatorWalletId: null, facilitatorWalletIds: [] }]);
  });

  it("are Selling wallets of the network, each once", async () => {
    const [a, b] = wallets.map(({ id }) => id);
    const { id: buying } = await newWallet("Purchasing");
    for (const [body, status] of [
      [{ facilitatorWalletIds: [a, "nowhere"] }, 404],
      [{ facilitatorWalletIds: [buying] }, 400],
      [{ facilitatorWalletIds: [a, a] }, 400],
      [{ facilitatorWalletIds: [a, b], facilitatorWalletId: b }, 400],
      [{ facilitatorWalletIds: [a], facilitatorWalletId: null }, 400],
    ] as const)
      expect(await change(body)).toMatchObject({
        status,
        message: expect.stringContaining("facilitatorWalletIds: "),
      });
    expect((await expectOk(await change({}))).facilitatorWalletIds).toEqual([a]);
  });

  it("are all signers, and settle payments that come at once, each once", async () => {
    const facilitatorWalletIds = wallets.map(({ id }) => id);
    await expectOk(await change({ facilitatorWalletIds }));
    const addresses = wallets.map(({ address }) => address).sort();
    const supported = await (await call("/api/v1/x402/facilitator/supported")).json();
    const { signers } = supported as { signers: Record<string, string[]> };
    expect(signers["eip155:*"]?.toSorted()).toEqual(addresses);

    const { x402, source } = fixture;
    const buyer = await x402.buyer();
    const payments = await Promise.all(
      Array.from({ length: 30 }, () => x402.payment(buyer, source)),
    );
    const answers = await Promise.all(
      payments.map((payment) => untilDecided(() => settle(source, payment))),
    );
    expect(answers.filter(({ data }) => !data?.settleResponse.success)).toEqual([]);
    expect(await x402.balance(source.payTo)).toBe(300_000n);
    expect([...new Set(await senders())].sort()).toEqual(addresses);
  });

  it("settle what they have begun after they are left out, and nothing new", async () => {
    const [first, second] = wallets;
    await fixture.settlePending();
    const begun = { source: fixture.source, payment: fixture.payment };
    await expectOk(await change({ facilitatorWalletIds: [second.id] }));

    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");
    await fixture.expectSettledOnce();
    expect(await senders()).toEqual([first.address]);
    await fixture.again();
    expect((await fixture.settle()).data.settleResponse.success).toBe(true);
    expect(await senders()).toEqual([second.address]);

    const repeated = await settle(begun.source, begun.payment);
    expect(repeated.data).toMatchObject({ replay: true, settleResponse: { success: true } });
  });

  it("keep an authorization that failed and is sent again, even when they are left out", async () => {
    const [first, second] = wallets;
    await fixture.settlePending();
    // The wallet's transaction is replaced: the payment fails and may yet come back.
    await fixture.x402.emptyAccount(fixture.payer);
    await fixture.x402.rpc("evm_setAutomine", true);
    await fixture.x402.rpc("evm_mine");
    expect((await fixture.settleDecided()).data.settleResponse.success).toBe(false);

    await expectOk(await change({ facilitatorWalletIds: [second.id] }));
    await fixture.x402.mint(fixture.x402.contracts.token, fixture.payer, 10_000n);
    expect((await fixture.settleDecided()).data.settleResponse.success).toBe(true);
    expect(await senders()).toEqual([first.address]);
  });
});
