import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { encodeBytes } from "../../../src/chain/cbor.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { hashScript, replaceParameters } from "../../../src/chain/plutus/script.ts";
import { emptyTables } from "../../support/app.ts";
import { ContractFixture } from "../../support/sources/contract-fixture.ts";
import { settle } from "../../support/sources/sync.ts";

let fixture: ContractFixture;

beforeAll(async () => {
  fixture = await ContractFixture.open();
});

beforeEach(emptyTables);

/** Hash of a script on the chain with other parameters. */
async function hashWith(template: string, parameters: PlutusData[]): Promise<string> {
  const shown = hexToBytes(await fixture.shown(template));
  return hashScript(replaceParameters(shown, parameters.map(encodePlutusData)).script);
}

const contractAddress = (hash: string) =>
  formatAddress({ network: "Preprod", payment: { kind: "script", hash }, stake: null });

const keyHash = (name: string) => hexToBytes(fixture.wallet(name).vkey);

describe("POST /payment-source-extended without a contract 200", () => {
  it("derives that of Web3ChainV1 from admins, fee and cooldown, and its policy from it", async () => {
    const receiver = parseAddress(fixture.wallet("seller-1").address);
    const credential = (hash = "") => ({ index: 0, fields: [hexToBytes(hash)] });
    const some = (data: PlutusData) => ({ index: 0, fields: [data] });
    const { escrow, policy } = fixture.templates.Web3ChainV1;
    const address = contractAddress(
      await hashWith(escrow, [
        2n,
        ["admin", "seller-0", "buyer-0"].map(keyHash),
        {
          index: 0,
          fields: [
            credential(receiver?.payment.hash),
            some(some(credential(receiver?.stake?.hash))),
          ],
        },
        35n,
        600_000n,
      ]),
    );
    const policyId = await hashWith(policy, [new TextEncoder().encode(address)]);

    const { status, data } = await fixture.derive("Web3ChainV1", {
      AdminWallets: fixture.admins("admin", "seller-0", "buyer-0"),
      FeeReceiverNetworkWallet: { walletAddress: fixture.wallet("seller-1").address },
      feeRatePermille: 35,
      cooldownTime: 600_000,
    });
    expect(status).toBe(200);
    expect(data).toMatchObject({
      smartContractAddress: address,
      policyId,
      paymentSourceType: "Web3ChainV1",
      AdminWallets: ["admin", "seller-0", "buyer-0"].map((name, order) => ({
        walletAddress: fixture.wallet(name).address,
        order,
      })),
      feeRatePermille: 35,
      requiredAdminSignatures: null,
      cooldownTime: 600_000,
      lastIdentifierChecked: "",
    });
    expect((await fixture.api.list()).data.ExtendedPaymentSources).toEqual([data]);
  });

  it("derives that of Web3ChainV2 from admins, their signatures and cooldown", async () => {
    const { escrow, policy } = fixture.templates.Web3ChainV2;
    const admins = ["admin", "admin", "seller-0", "buyer-0"];
    const hash = await hashWith(escrow, [3n, admins.map(keyHash), 0n]);
    const { status, data } = await fixture.derive("Web3ChainV2", {
      AdminWallets: fixture.admins(...admins),
      requiredAdminSignatures: 3,
      cooldownTime: 0,
    });
    expect(status).toBe(200);
    expect(data).toMatchObject({
      smartContractAddress: contractAddress(hash),
      policyId: policy,
      requiredAdminSignatures: 3,
      FeeReceiverNetworkWallet: { walletAddress: "" },
    });
  });

  it.each([
    ["Web3ChainV1", { AdminWallets: ["seller-0", "admin", "buyer-0"] }],
    ["Web3ChainV1", { feeRatePermille: 51 }],
    ["Web3ChainV1", { FeeReceiverNetworkWallet: "buyer-1" }],
    ["Web3ChainV1", { cooldownTime: 420_001 }],
    ["Web3ChainV2", { AdminWallets: ["seller-0", "admin", "buyer-0"] }],
    ["Web3ChainV2", { requiredAdminSignatures: 1 }],
    ["Web3ChainV2", { cooldownTime: 420_001 }],
  ] as const)("derives another one on %s for %o", async (type, change) => {
    const first = await fixture.derive(type);
    const { AdminWallets, FeeReceiverNetworkWallet, ...rest } = {
      AdminWallets: undefined,
      FeeReceiverNetworkWallet: undefined,
      ...change,
    };
    const second = await fixture.derive(type, {
      ...rest,
      ...(AdminWallets && { AdminWallets: fixture.admins(...AdminWallets) }),
      ...(FeeReceiverNetworkWallet && {
        FeeReceiverNetworkWallet: {
          walletAddress: fixture.wallet(FeeReceiverNetworkWallet).address,
        },
      }),
    });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.data.smartContractAddress).not.toBe(first.data.smartContractAddress);
    expect(second.data.policyId === first.data.policyId).toBe(type === "Web3ChainV2");
  });

  it("derives the same one where two signatures are asked for or left to Web3ChainV1", async () => {
    const { data } = await fixture.derive("Web3ChainV1", { requiredAdminSignatures: 2 });
    expect(data.requiredAdminSignatures).toBe(2);
    expect(await fixture.derive("Web3ChainV1")).toMatchObject({
      status: 409,
      message: "smartContractAddress: a payment source already has this contract",
    });
    await emptyTables();
    const again = await fixture.derive("Web3ChainV1");
    expect(again.data.smartContractAddress).toBe(data.smartContractAddress);
  });

  it("derives from a script that the provider wraps once more", async () => {
    const plain = await fixture.derive("Web3ChainV2");
    await emptyTables();
    const { escrow } = fixture.templates.Web3ChainV2;
    const cbor = bytesToHex(encodeBytes(hexToBytes(await fixture.shown(escrow))));
    const body = JSON.stringify({ cbor });
    await fixture.api.chain.faults({ match: `/scripts/${escrow}/cbor`, status: 200, body });
    const wrapped = await fixture.derive("Web3ChainV2");
    await fixture.api.chain.faults();
    expect(wrapped.status).toBe(200);
    expect(wrapped.data.smartContractAddress).toBe(plain.data.smartContractAddress);
  });

  it("is made once per Idempotency-Key, and asks for the script once", async () => {
    const headers = { "idempotency-key": "once" };
    await fixture.api.chain.stats();
    const first = await fixture.derive("Web3ChainV2", {}, { headers });
    expect((await fixture.derive("Web3ChainV2", {}, { headers })).data).toEqual(first.data);
    const { calls } = await fixture.api.chain.stats();
    expect(calls["GET /scripts/{script_hash}/cbor"]).toBe(1);
  });

  it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
    "follows it from its first transaction, which may come later: %s",
    async (type) => {
      const { chain } = fixture.api;
      const { data } = await fixture.derive(type, fixture.api.purchasing());
      const { smartContractAddress, policyId } = data;
      await settle(chain, data.id);
      const [source] = (await fixture.api.list()).data.ExtendedPaymentSources;
      expect(source).toMatchObject({ id: data.id, error: null, syncInProgress: false });
      expect(source.lastCheckedAt).not.toBeNull();

      const lock = { do: "lock", version: type, contractAddress: smartContractAddress };
      const [locked] = await chain.act([lock]);
      await settle(chain, data.id);
      const query = `network=Preprod&filterSmartContractAddress=${smartContractAddress}`;
      const purchases = await fixture.api.ask("GET", `/api/v1/purchase?${query}`);
      expect(purchases.data.Purchases).toEqual([
        expect.objectContaining({
          blockchainIdentifier: locked?.escrows[0]?.identifier,
          onChainState: "FundsLocked",
          PaymentSource: expect.objectContaining({ smartContractAddress, policyId }),
        }),
      ]);
    },
  );
});
