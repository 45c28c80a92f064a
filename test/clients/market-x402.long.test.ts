/** How the marketplace finds that it can pay over x402, and pays, from its files. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { createPayer } from "../../devnet/demo/x402/buyer.ts";
import { NETWORK as EVM_NETWORK } from "../../devnet/demo/x402/rail.ts";
import { giveDollars, giveGas } from "../../devnet/evm/money.ts";
import { type EvmNode, startEvmNode } from "../../devnet/evm/node.ts";
import { createPayingKey } from "./client-scene.ts";
import { accept, type Foreign, findCopy, loadCopy } from "./folder.ts";
import { createClient } from "./market-stand-ins.ts";
import { type Scene, startScene } from "./scene.ts";

const NETWORK = "Preprod";
const x402File = findCopy(
  "sokosumi",
  "packages/masumi/src/clients/masumi-payment-x402.ts",
  "the marketplace's buyer over x402",
);

const readinessFile = findCopy(
  "sokosumi",
  "apps/core/src/services/agent-sync.x402-readiness.compose.ts",
  "the marketplace's readiness for x402",
);
/** The only chain of test networks, and the only token there, on which the marketplace pays. */
const BASE_SEPOLIA = "eip155:84532";
const USDC = "0x036cbd53842c5426634e7929541ec2318f3dcf7e";

describe.runIf(x402File)("the marketplace over x402", () => {
  let scene: Scene;
  let api: string;
  /** A local node with the id of a public chain. */
  let base: EvmNode;
  let connect: (token: string) => Foreign;
  beforeAll(async () => {
    base = await startEvmNode(Number(BASE_SEPOLIA.slice("eip155:".length)));
    scene = await startScene([base.url]);
    api = `${scene.access.url}/api/v1`;
    const { createX402PaymentMethods } = await loadCopy(x402File);
    connect = (token) =>
      createX402PaymentMethods(() => createClient({ baseUrl: api, headers: { token } }), NETWORK);
    // The copies log each request, and what they miss.
    for (const level of ["info", "warn", "error"] as const)
      vi.spyOn(console, level).mockReturnValue();
  });
  afterAll(async () => {
    await scene?.close();
    await base?.close();
  });

  const createKey = (more: object) => createPayingKey(scene.access, more);

  it("finds a network, its own budget, a funded wallet, and pays", async () => {
    const { node, resource } = scene.x402;
    const { evmWalletId } = await createPayer(scene.access, node);
    const key = await createKey({ permission: "Admin" });
    const asset = node.token.toLowerCase();
    await ask(scene.access, "POST", "/x402/budgets", {
      ...{ apiKeyId: key.id, evmWalletId, caip2Network: EVM_NETWORK, asset: node.token },
      remainingAmount: "15000",
    });
    const client = connect(key.token);

    const networks = accept(await client.getX402AvailableNetworks());
    expect(networks).toMatchObject([
      { caip2Id: EVM_NETWORK, isEnabled: true, isTestnet: true, defaultAssetDecimals: 6 },
    ]);
    expect(networks[0].defaultAsset.toLowerCase()).toBe(asset);
    expect(accept(await client.getX402KeySpendCaps()).usageLimited).toBe(false);
    const budgets = accept(await client.getX402Budgets());
    expect(budgets).toMatchObject([
      { apiKeyId: key.id, evmWalletId, caip2Network: EVM_NETWORK, remainingAmount: "15000" },
    ]);
    const wallets = accept(await client.getX402AdminPurchasingWallets());
    const wallet = wallets.find(({ id }: Foreign) => id === evmWalletId);
    expect(wallet).toMatchObject({ networkId: networks[0].id, caip2Network: EVM_NETWORK });
    expect(budgets[0].evmWalletAddress).toBe(wallet.address);
    const [balance, ...others] = accept(
      await client.getX402WalletBalances({
        evmWalletId,
        evmWalletAddress: wallet.address,
        caip2Network: wallet.caip2Network,
      }),
    );
    expect(others).toEqual([]);
    expect(BigInt(balance.native.amount)).toBeGreaterThan(0n);
    expect(balance.asset).toMatchObject({ decimals: 6, amount: "10000000" });
    expect(balance.asset.asset.toLowerCase()).toBe(asset);

    const terms = (await fetch(resource.url)).headers.get("payment-required") ?? "";
    const order = {
      evmWalletId,
      paymentRequired: JSON.parse(Buffer.from(terms, "base64").toString()),
      preferredNetwork: EVM_NETWORK,
      preferredAsset: asset,
    };
    const signed = accept(await client.payX402(order));
    expect(signed.payer.toLowerCase()).toBe(wallet.address.toLowerCase());
    const paid = await fetch(resource.url, {
      headers: { "payment-signature": signed.xPaymentHeader },
    });
    expect(paid.status).toBe(200);
    expect(accept(await client.getX402Budgets())[0].remainingAmount).toBe("5000");
    expect((await client.payX402(order)).error).toMatchObject({ kind: "refused", status: 402 });

    const limited = await createKey({ usageLimited: "true", ChainIdLimit: [EVM_NETWORK] });
    await ask(scene.access, "POST", "/x402/budgets", {
      ...{ apiKeyId: limited.id, evmWalletId, caip2Network: EVM_NETWORK, asset: node.token },
      remainingAmount: "4000",
    });
    expect(accept(await connect(limited.token).getX402KeySpendCaps())).toEqual({
      usageLimited: true,
      creditsByUnit: new Map([[`${EVM_NETWORK}:${asset}`, 4000n]]),
      grandfatheredUncapped: false,
    });

    const stranger = connect((await createKey({ ChainIdLimit: [EVM_NETWORK] })).token);
    expect(accept(await stranger.getX402AdminPurchasingWallets())).toEqual([]);
  });

  it.runIf(readinessFile)("is ready to pay on a chain that it allows", async () => {
    const { composeX402ReadySources } = await loadCopy(readinessFile);
    const code = await base.rpc<string>("eth_getCode", [base.token, "latest"]);
    await base.rpc("anvil_setCode", [USDC, code]);
    await ask(scene.access, "POST", "/x402/networks", {
      ...{ caip2Id: BASE_SEPOLIA, displayName: "Base Sepolia", rpcUrl: base.url },
      ...{ isTestnet: true, defaultAsset: USDC },
    });
    const { id, address } = await ask<{ id: string; address: string }>(
      scene.access,
      "POST",
      "/x402/wallets",
      { caip2Network: BASE_SEPOLIA, type: "Purchasing" },
    );
    await giveDollars({ rpc: base.rpc, token: USDC }, address, 10_000_000n);
    await giveGas(base, address);

    const client = connect((await createKey({ permission: "Admin" })).token);
    const networks = accept(await client.getX402AvailableNetworks());
    const wallets: Foreign[] = accept(await client.getX402AdminPurchasingWallets());
    const funded = await Promise.all(
      wallets.map(async (wallet) => ({
        wallet,
        balances: accept(
          await client.getX402WalletBalances({
            evmWalletId: wallet.id,
            evmWalletAddress: wallet.address,
            caip2Network: wallet.caip2Network,
          }),
        ),
      })),
    );
    const findReady = async (of: Foreign) =>
      composeX402ReadySources(networks, accept(await of.getX402KeySpendCaps()), NETWORK, funded);
    const ready = {
      ...{ caip2Network: BASE_SEPOLIA, asset: USDC, decimals: 6 },
      ...{ evmWalletId: id, evmWalletAddress: address.toLowerCase() },
    };
    expect(await findReady(client)).toEqual([ready]);

    const limited = await createKey({ usageLimited: "true", ChainIdLimit: [BASE_SEPOLIA] });
    expect(await findReady(connect(limited.token))).toEqual([]);
    await ask(scene.access, "POST", "/x402/budgets", {
      ...{ apiKeyId: limited.id, evmWalletId: id, caip2Network: BASE_SEPOLIA, asset: USDC },
      remainingAmount: "1",
    });
    expect(await findReady(connect(limited.token))).toEqual([ready]);
  });
});
