import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { LOCAL_SCRIPT_HASHES } from "../../src/sources/contracts/local-contracts.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { SourceApi } from "../support/sources/api.ts";

interface Rail {
  rail: string;
  isReady: boolean;
  Checks: { id: string; isComplete: boolean; detail: string | null }[];
  PurchaseSources?: {
    policyId: string;
    smartContractAddress: string;
    isPurchaseReady: boolean;
    Checks: { id: string }[];
  }[];
}

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});
beforeEach(emptyTables);

async function rails(overrides: object = {}): Promise<[chain: Rail, x402: Rail]> {
  const headers = { token: await insertKey({}) };
  const path = "/api/v1/rail-readiness?network=Preprod";
  const { data } = await api.ask("GET", path, null, { headers, env: overrides });
  expect(data.network).toBe("Preprod");
  return data.Rails;
}

const missing = ({ Checks }: Rail) => Checks.filter((one) => !one.isComplete).map(({ id }) => id);
const sql = (text: string, ...params: unknown[]) => openDb(env).batch([statement(text, ...params)]);

/** A source of Web3ChainV2 that lacks nothing. */
async function source(overrides: object = {}): Promise<string> {
  const contract = api.contract("Web3ChainV2");
  const { data } = await api.create({
    paymentSourceType: "Web3ChainV2",
    smartContractAddress: contract.address,
    policyId: contract.policyId,
    feeRatePermille: 0,
    FeeReceiverNetworkWallet: null,
    requiredAdminSignatures: 1,
    ...api.purchasing(),
    ...api.selling(),
    ...overrides,
  });
  await sql("UPDATE managed_wallet SET drives = 'all'");
  await sql("UPDATE source_cursor SET last_checked_at = ?", Date.now());
  return data.id;
}

describe("GET /rail-readiness", () => {
  it("lists all that is missing where nothing was set up", async () => {
    const [chain, x402] = await rails();
    expect(chain).toMatchObject({ rail: "ChainV2", isReady: false, PurchaseSources: [] });
    expect(missing(chain)).toEqual([
      "chain.payment_source",
      "chain.contract_current",
      "chain.rpc_provider",
      "chain.admin_signatures",
      "chain.selling_wallet",
      "chain.purchasing_wallet",
      "chain.payments_enabled",
    ]);
    expect(x402).toMatchObject({ rail: "X402", isReady: false });
    expect(x402).not.toHaveProperty("PurchaseSources");
    expect(missing(x402)).toEqual([
      "x402.enabled_chain",
      "x402.rpc_url",
      "x402.facilitator",
      "x402.selling_wallet",
      "x402.purchasing_wallet",
      "x402.budget",
    ]);
  });

  it("is ready with a source that lacks nothing, whatever others lack", async () => {
    await source();
    const [chain] = await rails();
    const contract = api.contract("Web3ChainV2");
    expect(LOCAL_SCRIPT_HASHES).toContain(contract.policyId);
    expect(missing(chain)).toEqual([]);
    expect(chain.isReady).toBe(true);
    expect(chain.PurchaseSources).toMatchObject([
      {
        policyId: contract.policyId,
        smartContractAddress: contract.address,
        isPurchaseReady: true,
      },
    ]);
    const ids = chain.PurchaseSources?.[0]?.Checks.map(({ id }) => id);
    expect(ids).not.toContain("chain.selling_wallet");
    await sql("UPDATE payment_source SET network = 'Mainnet'");
    expect((await rails())[0].PurchaseSources).toEqual([]);
  });

  it.each([
    ["chain.contract_current", "UPDATE payment_source SET policy_id = '00'", false],
    ["chain.rpc_provider", "UPDATE source_cursor SET last_checked_at = 1", false],
    ["chain.rpc_provider", "UPDATE source_cursor SET error = 'secret'", false],
    ["chain.admin_signatures", "UPDATE payment_source SET required_admin_signatures = 2", false],
    ["chain.payments_enabled", "UPDATE payment_source SET drives = 'finish'", false],
    [
      "chain.purchasing_wallet",
      "UPDATE managed_wallet SET drives = 'nothing' WHERE role = 'Purchasing'",
      false,
    ],
    [
      "chain.selling_wallet",
      "UPDATE managed_wallet SET deleted_at = 1 WHERE role = 'Selling'",
      true,
    ],
  ])("misses %s after %s", async (id, change, isPurchaseReady) => {
    await source();
    await sql(change);
    const [chain] = await rails();
    expect(missing(chain)).toEqual([id]);
    expect(chain.isReady).toBe(false);
    expect(chain.Checks.find((one) => one.id === id)?.detail).toMatch(/^[A-Z]/);
    expect(JSON.stringify(chain)).not.toContain("secret");
    expect(chain.PurchaseSources).toMatchObject([{ isPurchaseReady }]);
  });

  it("is ready on an EVM test chain with wallets and a budget", async () => {
    const chain = (caip2Id: string, isTestnet: number) =>
      sql(
        `INSERT INTO x402_network (id, caip2_id, display_name, rpc_url, is_testnet, is_enabled,
           facilitator_wallet_id, eip6492_factories, created_at, updated_at)
         VALUES (?1, ?1, 'a', 'sealed', ?2, 1, 'Selling', '[]', 1, 1)`,
        caip2Id,
        isTestnet,
      );
    await chain("eip155:1", 0);
    expect(missing((await rails())[1])).toContain("x402.enabled_chain");
    await chain("eip155:84532", 1);
    expect(missing((await rails())[1])).toEqual([
      "x402.facilitator",
      "x402.selling_wallet",
      "x402.purchasing_wallet",
      "x402.budget",
    ]);
    for (const type of ["Selling", "Purchasing"])
      await sql(
        `INSERT INTO x402_wallet (id, caip2_id, address, type, private_key, created_by_id,
           created_at, updated_at) VALUES (?1, 'eip155:84532', ?1, ?1, 'sealed', 'key', 1, 1)`,
        type,
      );
    expect(missing((await rails())[1])).toEqual(["x402.budget"]);
    await sql(
      `INSERT INTO x402_budget (id, api_key_id, evm_wallet_id, asset, remaining_amount,
         spent_amount, is_enabled, created_by_id, revision, created_at, updated_at)
       VALUES ('a', 'key', 'Purchasing', '0x1', '5', '0', 1, 'key', 0, 1, 1)`,
    );
    expect((await rails())[1]).toMatchObject({ isReady: true });
  });
});
