/** The x402 part of a running copy, from outside. */
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from "viem";
import { expect, vi } from "vitest";
import { buy, playPurchases, type TransferMethod } from "../../devnet/demo/x402/buyer.ts";
import { type Address, type Copy, ready, receiverOf, WAIT_MS } from "./copies.ts";

const SOLD = /^ {2}x402 +(http\S+)$/m;
const tokenAbi = parseAbi(["function balanceOf(address owner) view returns (uint256)"]);

export interface Settlement {
  attemptId: string;
  txHash: string;
  success: boolean;
  amount: string;
}

/** Minor units that the resource costs. */
export const PRICE = 10_000n;

/** The x402 side of a running copy, as somebody with its lines on the screen reaches it. */
export class X402Demo {
  readonly resource: string;
  readonly receiver: string;
  readonly #service: Address;

  private constructor(copy: Copy, service: Address) {
    [, this.resource = ""] = SOLD.exec(copy.stdout) ?? [];
    this.receiver = receiverOf(copy);
    this.#service = service;
  }

  static async of(copy: Copy): Promise<X402Demo> {
    return new X402Demo(copy, await ready(copy));
  }

  async get<Data>(path: string): Promise<Data> {
    const { url, adminKey } = this.#service;
    return read(`${url}/api/v1${path}`, adminKey);
  }

  async settlements(): Promise<Settlement[]> {
    const { Settlements } = await this.get<{ Settlements: Settlement[] }>("/x402/settlements");
    return Settlements;
  }

  /** Has the demo's buyer buy, where the demo is not played. */
  async play(): Promise<Settlement[]> {
    const { Networks } = await this.get<{ Networks: { defaultAsset: Hex }[] }>("/x402/networks");
    const { url, adminKey: token } = this.#service;
    const rpc = this.rpc.bind(this);
    const node = { rpc, token: Networks[0]?.defaultAsset ?? "0x" } as const;
    await playPurchases({ url, token }, node, this.resource);
    return this.settlements();
  }

  /** Waits for what the demo's buyer buys. */
  async played(): Promise<Settlement[]> {
    return vi.waitUntil(
      async () => {
        const settlements = await this.settlements();
        return settlements.length === 2 && settlements;
      },
      { timeout: WAIT_MS, interval: 250 },
    );
  }

  /** What the resource offers, as the SDK reads it. */
  async terms() {
    const response = await fetch(this.resource);
    expect(response.status).toBe(402);
    const header = response.headers.get("payment-required") ?? "";
    return { ...decodePaymentRequiredHeader(header), body: await response.json() };
  }

  /** Buys the resource out of the demo's wallet. */
  async buy(method: TransferMethod) {
    const { Wallets } = await this.get<{ Wallets: { id: string; type: string }[] }>(
      "/x402/wallets",
    );
    const wallet = Wallets.find(({ type }) => type === "Purchasing");
    const { url, adminKey: token } = this.#service;
    return buy(this.resource, { url, token, evmWalletId: wallet?.id ?? "" }, method);
  }

  async rpc<T>(method: string, params: unknown[] = []): Promise<T> {
    const { Networks } = await this.get<{ Networks: { rpcUrl: string }[] }>("/x402/networks");
    const response = await fetch(Networks[0]?.rpcUrl ?? "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: object };
    expect(error).toBeUndefined();
    return result;
  }

  /** What the seller has, read from the node. */
  async earned(): Promise<bigint> {
    const [terms] = (await this.terms()).accepts;
    const call = { abi: tokenAbi, functionName: "balanceOf" } as const;
    const data = encodeFunctionData({ ...call, args: [terms?.payTo as Hex] });
    const answer = await this.rpc<Hex>("eth_call", [{ to: terms?.asset, data }, "latest"]);
    return decodeFunctionResult({ ...call, data: answer });
  }

  receipts(settlements: Settlement[]) {
    return Promise.all(
      settlements.map(({ txHash }) =>
        this.rpc<{ status: string; to: string }>("eth_getTransactionReceipt", [txHash]),
      ),
    );
  }
}

/** GETs what an API key may see. */
export async function read<Data>(url: string, token: string): Promise<Data> {
  const response = await fetch(url, { headers: { token } });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: Data }).data;
}
