/** The peer's own service, as a process with its database, buys from our agents. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entropyToMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { afterAll, beforeAll, describe, expect, it, onTestFailed, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { TERMS } from "../../devnet/contracts/terms.ts";
import { ADMIN } from "../../devnet/demo/actors/wallets.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import { type ClientScene, startClientScene } from "./client-scene.ts";
import { findCopy, loadCopy } from "./folder.ts";
import { type PeerService, startPeerService, writePeerContracts } from "./peer-service/start.ts";

const NETWORK = "Preprod";
const MINUTE_MS = 60_000;
/** Its provider's SDK reads the network from the beginning of the key. */
const PROVIDER_KEY = "preprodLocalChain";
const PRICE = [{ unit: "", amount: "5000000" }];

const createWords = () => entropyToMnemonic(randomBytes(32), wordlist);
const managed = (walletMnemonic: string) => ({
  walletMnemonic,
  note: "A wallet",
  collectionAddress: null,
});

const generated = findCopy(
  "masumi-payment-service-installed",
  "src/generated/prisma",
  "its own service, which buys",
);
const folder = generated && join(generated, "../../..");
const saas = findCopy("masumi-saas", "apps/web/src/lib/payment-node/client.ts", "masumi-saas");

interface Quote {
  blockchainIdentifier: string;
  inputHash: string;
  payByTime: string;
  submitResultTime: string;
  unlockTime: string;
  externalDisputeUnlockTime: string;
  supportedPaymentSourceIndex?: number | null;
}

interface Escrow {
  onChainState: string | null;
  NextAction: { requestedAction: string; errorNote: string | null };
  CurrentTransaction: { txHash: string | null } | null;
}

describe.runIf(folder)("the peer's own service", () => {
  let scene: ClientScene;
  let peer: PeerService | null;
  const scratch = mkdtempSync(join(tmpdir(), "peer-contracts-"));
  beforeAll(async () => {
    if (folder === null) return;
    vi.stubEnv("ESCROW_CONTRACTS", writePeerContracts(folder, join(scratch, "contracts.json")));
    scene = await startClientScene();
    peer = await startPeerService(folder, scene.service.provider);
    if (peer === null) console.log("PostgreSQL is not installed here: the peer buys nothing");
    else for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) await addSource(peer, type);
  });
  afterAll(async () => {
    await peer?.close();
    await scene?.close();
    rmSync(scratch, { recursive: true });
  });

  it.each([
    ["Web3CardanoV2", "Web3ChainV2", "onV2"],
    ["Web3CardanoV1", "Web3ChainV1", "fixed"],
  ] as const)("reads, buys and follows an agent of %s", async (name, type, agent) => {
    if (peer === null) return;
    const { access } = peer;
    const agentIdentifier = scene[agent];
    const buyerId = randomBytes(10).toString("hex");
    const at = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString();
    const { blockchainIdentifier, ...terms } = await ask<Quote>(scene.access, "POST", "/payment", {
      network: NETWORK,
      agentIdentifier,
      identifierFromPurchaser: buyerId,
      inputHash: randomBytes(32).toString("hex"),
      payByTime: at(20),
      submitResultTime: at(40),
      unlockTime: at(60),
      externalDisputeUnlockTime: at(80),
    });
    const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime, inputHash } = terms;
    const index = terms.supportedPaymentSourceIndex ?? null;
    const bought = await ask<Escrow>(access, "POST", "/purchase", {
      network: NETWORK,
      ...{ agentIdentifier, blockchainIdentifier, inputHash },
      ...{ payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime },
      identifierFromPurchaser: buyerId,
      sellerVkey: scene.parties[type].seller.vkey,
      // The seller's signature covers the source that the quote chose.
      ...(index !== null && { supportedPaymentSourceIndex: index }),
    });
    expect(bought.NextAction.requestedAction).toBe("FundsLockingRequested");
    const escrow = { network: NETWORK, blockchainIdentifier };
    const ours = () =>
      ask<Escrow & { RequestedFunds: object[] }>(
        scene.access,
        "POST",
        "/payment/resolve-blockchain-identifier",
        escrow,
      );
    const theirs = () =>
      ask<Escrow>(access, "POST", "/purchase/resolve-blockchain-identifier", escrow);
    const states = (state: string) => ({
      ours: async () => {
        const { NextAction } = await theirs();
        if (NextAction.errorNote) throw new Error(NextAction.errorNote);
        return (await ours()).onChainState === state;
      },
      theirs: async () => (await theirs()).onChainState === state,
    });
    onTestFailed(() => console.log(peer?.printed().slice(-20_000)));
    const locked = states("FundsLocked");
    await until(locked.ours, { what: `the peer's lock on ${name}`, everyMs: 1_000 });
    await until(locked.theirs, { what: "the lock as the peer sees it", everyMs: 1_000 });
    const lock = await ours();
    expect(lock.RequestedFunds).toMatchObject(PRICE);
    expect((await theirs()).CurrentTransaction?.txHash).toBe(lock.CurrentTransaction?.txHash);

    await ask(scene.access, "POST", "/payment/submit-result", {
      ...escrow,
      submitResultHash: randomBytes(32).toString("hex"),
    });
    const delivered = states("ResultSubmitted");
    await until(delivered.theirs, { what: "the result as the peer sees it", everyMs: 1_000 });
  });

  it.runIf(saas)("answers the method that fails against this service as we do", async () => {
    if (peer === null) return;
    const { createPaymentNodeClient } = await loadCopy(saas);
    const agent = { network: NETWORK, agentIdentifier: scene.onV2 };
    for (const { url, token } of [peer.access, scene.access])
      await expect(
        createPaymentNodeClient(`${url}/api/v1`, token).getRegistryByAgentIdentifier(agent),
      ).rejects.toThrow(/invalid_type/);
  });

  /** The payment source of the peer, with our contract and another wallet. */
  async function addSource({ access }: PeerService, type: PaymentSourceType): Promise<void> {
    const { cooldownTime, fee, requiredAdminSignatures } = TERMS[type];
    const buyer = createWords();
    const { address: funded } = await deriveWalletKeys(buyer, NETWORK);
    await fetch(`${scene.service.controls}/fund`, {
      method: "POST",
      body: JSON.stringify({ address: funded }),
    });
    const admins = [ADMIN, ADMIN, ADMIN].map(({ address }) => ({ walletAddress: address }));
    const source = await ask<{ smartContractAddress: string; policyId: string }>(
      access,
      "POST",
      "/payment-source-extended",
      {
        network: NETWORK,
        paymentSourceType: type.replace("Chain", "Cardano"),
        PaymentSourceConfig: { rpcProviderApiKey: PROVIDER_KEY, rpcProvider: "Blockfrost" },
        AdminWallets: admins,
        cooldownTime,
        ...(fee === null
          ? { requiredAdminSignatures }
          : {
              feeRatePermille: fee.permille,
              FeeReceiverNetworkWallet: { walletAddress: fee.receiver },
            }),
        PurchasingWallets: [managed(buyer)],
        // The peer requires one.
        SellingWallets: [managed(createWords())],
      },
    );
    const { address, policy } = contractOf(type);
    expect(source).toMatchObject({ smartContractAddress: address, policyId: policy.hash });
  }
});
