/**
 * A real EVM node on this machine: anvil, with the contracts that x402 needs in their places and a
 * token of our own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Hex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { encodeAbiParameters, getContractAddress } from "viem/utils";
import compiled from "./contracts/compiled.json" with { type: "json" };

/** Addresses of the contracts on every public chain. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
export const PERMIT2_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
export const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
export const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** The words anvil is known for; its accounts have 10,000 of the native coin each. */
const MNEMONIC = "test test test test test test test test test test test junk";
/** Account 0, which deploys the contracts and gives money away. Deriving it would take a moment. */
export const BANK = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const READY_WITHIN_MS = 15_000;
/** A token that takes one percent of each transfer. */
const FEE_BASIS_POINTS = 100n;

/** The account with an index: 0 is `BANK`, the others are for whoever needs one. */
export function evmAccount(index: number) {
  return mnemonicToAccount(MNEMONIC, { addressIndex: index });
}

/** Contracts of a node, the same on each: they follow from the deployer's first nonces. */
export interface EvmContracts {
  /** ERC-20 with EIP-3009: name `Test Dollar`, version `1`, 6 decimals; anybody may mint. */
  token: Hex;
  /** The same, but one percent less arrives. */
  feeToken: Hex;
  /** Deploys ERC-1271 wallets: `deploy(address owner)`, `addressOf(address owner)`. */
  walletFactory: Hex;
}

export interface EvmNode extends EvmContracts {
  /** JSON-RPC endpoint, http. */
  url: string;
  chainId: number;
  /** Sends one JSON-RPC call; throws when it is refused. */
  rpc<T>(method: string, params?: unknown[]): Promise<T>;
  /** Ends the process as a power cut would: what was in its pool is lost. */
  crash(): Promise<void>;
  /** Starts a crashed node again, with the blocks it had. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** No anvil runs on this machine; the message says why. */
export class EvmUnavailable extends Error {
  override name = "EvmUnavailable";
}

/**
 * Starts a node. It makes a block for each transaction until `evm_setAutomine` changes that.
 *
 * @param dump - an earlier chain, from `anvil_dumpState` (hex)
 * @throws EvmUnavailable when anvil does not run on this platform
 */
export async function startEvmNode(chainId: number, dump?: string): Promise<EvmNode> {
  const path = anvilPath();
  const port = await freePort();
  const args = ["--port", String(port), "--chain-id", String(chainId), "--silent"];
  const run = () => runUntilExit(path, args);
  let anvil = run();
  let kept = "";
  const url = `http://127.0.0.1:${port}`;
  const rpc = <T>(method: string, params: unknown[] = []) => call<T>(url, method, params);
  const end = async (signal: NodeJS.Signals) => {
    if (anvil.pid === undefined || anvil.exitCode !== null || anvil.signalCode !== null) return;
    anvil.kill(signal);
    await once(anvil, "exit");
  };
  const close = () => end("SIGTERM");
  const crash = async () => {
    kept = await rpc("anvil_dumpState");
    await end("SIGKILL");
  };
  const restart = async () => {
    anvil = run();
    await answering(anvil, rpc);
    await rpc("anvil_loadState", [kept]);
  };
  try {
    await answering(anvil, rpc);
    await (dump === undefined ? deploy(rpc) : rpc("anvil_loadState", [dump]));
    return { url, chainId, rpc, crash, restart, close, ...CONTRACTS };
  } catch (error) {
    await close();
    throw error;
  }
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill();
});

/** Runs a program that does not outlive this process, unless that is killed. */
function runUntilExit(path: string, args: string[]): ChildProcess {
  const child = spawn(path, args, { stdio: "ignore" });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

function anvilPath(): string {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const name = `@foundry-rs/anvil-${platform}`;
  let manifest: string;
  try {
    manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  } catch (error) {
    throw new EvmUnavailable(`the package ${name} is not installed`, { cause: error });
  }
  return join(dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, "127.0.0.1"), "listening");
  const address = probe.address();
  await new Promise((done) => probe.close(done));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

async function answering(
  anvil: ChildProcess,
  rpc: (method: string) => Promise<unknown>,
): Promise<void> {
  let end = "";
  once(anvil, "exit").then(
    ([code, signal]) => {
      end = `anvil ended (${code ?? signal})`;
    },
    (error: Error) => {
      end = `anvil does not start: ${error.message}`;
    },
  );
  const until = Date.now() + READY_WITHIN_MS;
  for (;;) {
    if (end !== "") throw new EvmUnavailable(end);
    try {
      await rpc("eth_chainId");
      return;
    } catch (error) {
      if (Date.now() > until) throw new EvmUnavailable("anvil does not answer", { cause: error });
      await wait(20);
    }
  }
}

const deployed = (nonce: bigint) => getContractAddress({ from: BANK, nonce });
const CONTRACTS: EvmContracts = {
  token: deployed(0n),
  feeToken: deployed(1n),
  walletFactory: deployed(2n),
};

/** Puts the contracts into their places on a chain without blocks. */
async function deploy(rpc: EvmNode["rpc"]): Promise<void> {
  const create = async (data: string) => {
    const hash = await rpc<string>("eth_sendTransaction", [{ from: BANK, data, gas: "0x4c4b40" }]);
    if ((await receiptOf(rpc, hash)).status !== "0x1")
      throw new Error("a contract of the local node does not deploy");
  };
  const fee = (basisPoints: bigint) =>
    encodeAbiParameters([{ type: "uint256" }], [basisPoints]).slice(2);
  await create(compiled.TestDollar.bytecode + fee(0n));
  await create(compiled.TestDollar.bytecode + fee(FEE_BASIS_POINTS));
  await create(compiled.SmartWalletFactory.bytecode);
  await rpc("anvil_setCode", [MULTICALL3, compiled.Multicall3.deployedBytecode]);
  await rpc("anvil_setCode", [PERMIT2, compiled.Permit2.deployedBytecode]);
  await rpc("anvil_setCode", [PERMIT2_PROXY, compiled.X402ExactPermit2Proxy.deployedBytecode]);
  await rpc("anvil_setCode", [UPTO_PROXY, compiled.X402UptoPermit2Proxy.deployedBytecode]);
}

/**
 * Waits for the receipt of a transaction: a block is made right after its transaction is accepted,
 * which may be after the answer.
 */
export async function receiptOf(rpc: EvmNode["rpc"], hash: string): Promise<{ status: Hex }> {
  for (;;) {
    const receipt = await rpc<{ status: Hex } | null>("eth_getTransactionReceipt", [hash]);
    if (receipt) return receipt;
    await wait(5);
  }
}

async function call<T>(url: string, method: string, params: unknown[]): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T;
}
