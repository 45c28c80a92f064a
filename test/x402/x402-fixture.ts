import { env } from "cloudflare:workers";
import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { readAuthorization } from "../../src/x402/evm/authorization.ts";
import { encodeSettlement } from "../../src/x402/evm/calldata.ts";
import type { PaymentPayload, PaymentRequirements } from "../../src/x402/model/schemas.ts";
import { signPayment } from "../../src/x402/pay/sign-payment.ts";
import { call } from "../support/app.ts";
import { signUpto } from "./sign-upto.ts";

const tokenAbi = parseAbi([
  "function mint(address to, uint256 value)",
  "function approve(address spender, uint256 value) returns (bool)",
  "function transfer(address to, uint256 value) returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
  "function nonces(address owner) view returns (uint256)",
]);
const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

export interface Contracts {
  chainId: number;
  token: Hex;
  feeToken: Hex;
  walletFactory: Hex;
}

/** What PATCHes a payload, deep enough for its two levels. */
export type Payload = PaymentPayload;

export interface Envelope<Data> {
  status: number;
  data: Data;
  message: string;
  /** Of the error; empty where there is none. */
  code: string;
  headers: Headers;
}

/** POSTs or GETs under /api/v1 and opens the envelope. */
export async function api<Data>(
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Envelope<Data>> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await call(`/api/v1${path}`, { ...init, headers });
  const answer = (await response.json()) as {
    data: Data;
    error?: { message: string; code: string };
  };
  return {
    status: response.status,
    data: answer.data,
    message: answer.error?.message ?? "",
    code: answer.error?.code ?? "",
    headers: response.headers,
  };
}

export interface SettleData {
  attemptId: string;
  paymentPayloadHash: string;
  paymentIdentifier: string | null;
  replay: boolean;
  settleResponse: {
    success: boolean;
    payer: string | null;
    transaction: string;
    network: string;
    amount: string;
    errorReason?: string;
    errorMessage?: string;
  };
}

/** A separate EVM node, and an x402 network that the API created for it. */
export class X402Fixture {
  readonly url: string;
  readonly contracts: Contracts;
  readonly caip2: string;
  facilitator = { id: "", address: "" };

  private constructor(url: string, contracts: Contracts) {
    this.url = url;
    this.contracts = contracts;
    this.caip2 = `eip155:${contracts.chainId}`;
  }

  /** @param name - the chain's number, with a suffix when two tests want the same */
  static async create(name: string): Promise<X402Fixture> {
    const url = `${env.EVM_URL}/${name}`;
    const contracts = (await (await fetch(url)).json()) as Contracts;
    const x402 = new X402Fixture(url, contracts);
    // A test that failed may have left its node without blocks.
    await x402.rpc("evm_setAutomine", true);
    await x402.setUp();
    return x402;
  }

  /** Network and facilitator wallet; needed again after the tables were emptied. */
  async setUp(): Promise<void> {
    const network = {
      caip2Id: this.caip2,
      displayName: "Local",
      rpcUrl: this.url,
      isTestnet: true,
    };
    await expectOk(await api("/x402/networks", network));
    const wallet = await expectOk(
      await api<{ id: string; address: string }>("/x402/wallets", {
        caip2Network: this.caip2,
        type: "Selling",
      }),
    );
    this.facilitator = wallet;
    await this.fund(wallet.address);
    await expectOk(
      await api("/x402/networks", {
        caip2Id: this.caip2,
        facilitatorWalletId: wallet.id,
        defaultAsset: this.contracts.token,
        eip6492AllowedFactories: [this.contracts.walletFactory],
      }),
    );
  }

  /** The id of its network. */
  async networkId(): Promise<string> {
    const { data } = await api<{ Networks: { id: string; caip2Id: string }[] }>("/x402/networks");
    return data.Networks.find(({ caip2Id }) => caip2Id === this.caip2)?.id ?? "";
  }

  async rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const answer = (await response.json()) as { result: T; error?: { message: string } };
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  async fund(address: string, wei = 10n ** 18n): Promise<void> {
    await this.rpc("anvil_setBalance", address, `0x${wei.toString(16)}`);
  }

  /** An account with tokens, which has approved Permit2. */
  async buyer(amount = 10n ** 12n): Promise<PrivateKeyAccount & { key: Hex }> {
    const key = generatePrivateKey();
    const account = privateKeyToAccount(key);
    await this.fund(account.address);
    for (const token of [this.contracts.token, this.contracts.feeToken]) {
      await this.mint(token, account.address, amount);
      await this.send(account.address, token, "approve", [PERMIT2, 2n ** 256n - 1n]);
    }
    return Object.assign(account, { key });
  }

  async mint(token: Hex, to: string, amount: bigint): Promise<void> {
    await this.send(await this.stranger(), token, "mint", [to as Hex, amount]);
  }

  /** An account of this call alone: the node would give one nonce to calls of two test files at once. */
  private async stranger(): Promise<Hex> {
    const { address } = privateKeyToAccount(generatePrivateKey());
    await this.fund(address);
    return address;
  }

  /** An account with tokens and without gas, which has not approved Permit2. */
  async newcomer(amount = 10n ** 12n): Promise<PrivateKeyAccount & { key: Hex }> {
    const key = generatePrivateKey();
    const account = privateKeyToAccount(key);
    await this.mint(this.contracts.token, account.address, amount);
    return Object.assign(account, { key });
  }

  /** Nonce of the owner's next permit (EIP-2612). */
  async permitNonce(owner: Hex): Promise<bigint> {
    const call = { abi: tokenAbi, functionName: "nonces" } as const;
    const data = encodeFunctionData({ ...call, args: [owner] });
    const answer = await this.rpc<Hex>("eth_call", { to: this.contracts.token, data }, "latest");
    return decodeFunctionResult({ ...call, data: answer });
  }

  /** As any owner that a contract wallet could have told to. */
  async approvePermit2(owner: string, amount = 2n ** 256n - 1n): Promise<void> {
    await this.fund(owner);
    await this.send(owner, this.contracts.token, "approve", [PERMIT2, amount]);
  }

  private async send(
    from: string,
    to: string,
    functionName: "mint" | "approve",
    args: [Hex, bigint],
  ): Promise<void> {
    await this.transact(from, to, encodeFunctionData({ abi: tokenAbi, functionName, args }));
  }

  /** The owner moves all of its tokens away, in a block that comes before any other. */
  async emptyAccount(owner: string): Promise<void> {
    const data = encodeFunctionData({
      abi: tokenAbi,
      functionName: "transfer",
      args: [ANYBODY, await this.balance(owner)],
    });
    await this.pending(owner, this.contracts.token, data);
  }

  /** Settles a payment by another sender than the facilitator, with a higher fee. */
  async bringToChain({ accepted, payload }: Payload): Promise<void> {
    const { to, data } = encodeSettlement(
      accepted.asset,
      readAuthorization(payload, accepted.scheme),
    );
    await this.outbid(to, data);
  }

  /** Somebody's call, in the next block before any other. */
  async outbid(to: string, data: Hex): Promise<void> {
    await this.pending(await this.stranger(), to, data);
  }

  /** Into the pool, ahead of what is there: it offers the next block more. */
  private async pending(from: string, to: string, data: Hex): Promise<void> {
    await this.rpc("anvil_impersonateAccount", from);
    const gasPrice = "0x2e90edd000";
    await this.rpc("eth_sendTransaction", { from, to, data, gasPrice, gas: "0x493e0" });
  }

  /** Sends a transaction from any address, and waits for its block. */
  async transact(from: string, to: string, data: Hex): Promise<void> {
    await this.rpc("anvil_impersonateAccount", from);
    const hash = await this.rpc<string>("eth_sendTransaction", { from, to, data });
    while ((await this.rpc("eth_getTransactionReceipt", hash)) === null);
  }

  async balance(address: string, token: Hex = this.contracts.token): Promise<bigint> {
    const call = { abi: tokenAbi, functionName: "balanceOf" } as const;
    const data = encodeFunctionData({ ...call, args: [address as Hex] });
    const answer = await this.rpc<Hex>("eth_call", { to: token, data }, "latest");
    return decodeFunctionResult({ ...call, data: answer });
  }

  /** A registered resource with a separate payee; default: the administrator's. */
  async source(over: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const payTo = privateKeyToAccount(generatePrivateKey()).address.toLowerCase();
    const source = await expectOk(
      await api<{ id: string; url: string; requirements: PaymentRequirements }>(
        "/x402/payment-sources",
        {
          url: "https://api.example.com/data",
          caip2Network: this.caip2,
          amount: "10000",
          payTo,
          ...over,
        },
        headers,
      ),
    );
    return { ...source, payTo };
  }

  /** A payment that settles, unless the test spoils it. */
  async payment(
    buyer: { key: Hex },
    source: { url: string; requirements: PaymentRequirements },
    method: "eip3009" | "permit2" = "eip3009",
    payer?: Hex,
  ): Promise<Payload> {
    const { requirements } = source;
    const signed = { x402Version: 2, resource: { url: source.url }, accepted: requirements };
    if (requirements.scheme === "upto")
      return { ...signed, payload: await signUpto(buyer.key, requirements, { from: payer }) };
    const { name, version } = requirements.extra as { name: string; version: string };
    const domain = method === "eip3009" ? { name, version } : null;
    const payload = await signPayment(buyer.key, requirements, domain, Date.now(), payer);
    return { ...signed, payload };
  }
}

/** An account of the local node that has gas. */
const ANYBODY = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

export async function expectOk<Data>(answer: Envelope<Data>): Promise<Data> {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.message}`);
  return answer.data;
}

/** POST /x402/settle. */
export function settle(
  source: { id: string },
  paymentPayload: unknown,
  headers: Record<string, string> = {},
  charge: { amount?: string } = {},
) {
  const body = { supportedPaymentSourceId: source.id, paymentPayload, ...charge };
  return api<SettleData>("/x402/settle", body, headers);
}

/** Sends a payment until it is decided: on a busy machine no block may include it within a request's time. */
export async function untilDecided(
  send: () => Promise<Envelope<SettleData>>,
): Promise<Envelope<SettleData>> {
  for (;;) {
    const answer = await send();
    if (answer.data?.settleResponse.errorReason !== "settlement_pending") return answer;
  }
}
