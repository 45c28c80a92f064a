/** The chain that settlements are measured on, and the payments for it. */
import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  maxUint128,
  parseAbi,
  toHex,
} from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { type EvmNode, evmAccount, startEvmNode } from "../../devnet/evm/node.ts";
import type { PaymentPayload, PaymentRequirements } from "../../src/x402/model/schemas.ts";
import { signPayment } from "../../src/x402/pay/sign-payment.ts";

const CHAIN_ID = 84_532;
/** EIP-712 domain of the node's token. */
const DOMAIN = { name: "Test Dollar", version: "1" };
/** Wei for the gas of every transaction there will be. */
const GAS_MONEY = 10n ** 21n;
/** What a payment pays, in the token's minor unit. */
const AMOUNT = 10_000n;

/** The resource that every payment is for. */
export const RESOURCE_URL = "https://api.example.com/data";

const tokenAbi = parseAbi([
  "function mint(address to, uint256 value)",
  "function balanceOf(address owner) view returns (uint256)",
]);

/** A node with a token, and a buyer who has plenty of it. */
export interface PaymentChain {
  node: EvmNode;
  /** CAIP-2 id. */
  network: string;
  /** Gives an account the native coin for gas. */
  fund(address: string): Promise<void>;
  /** Terms of payments to a payee who was never paid before. */
  newTerms(): PaymentRequirements;
  /** Signs EIP-3009 payments that differ in their nonces. */
  sign(terms: PaymentRequirements, count: number): Promise<PaymentPayload[]>;
  /** How many payments an account has received. */
  transfersTo(payee: string): Promise<number>;
}

/** Starts a node, which makes blocks at once; `node.close` ends it. */
export async function startPaymentChain(): Promise<PaymentChain> {
  const node = await startEvmNode(CHAIN_ID);
  const buyer = generatePrivateKey();
  const { address: minter } = evmAccount(0);
  const mint = encodeFunctionData({
    abi: tokenAbi,
    functionName: "mint",
    args: [privateKeyToAddress(buyer), maxUint128],
  });
  await node.rpc("eth_sendTransaction", [{ from: minter, to: node.token, data: mint }]);

  return {
    node,
    network: `eip155:${CHAIN_ID}`,
    async fund(address) {
      await node.rpc("anvil_setBalance", [address, toHex(GAS_MONEY)]);
    },
    newTerms: () => ({
      scheme: "exact",
      network: `eip155:${CHAIN_ID}`,
      amount: String(AMOUNT),
      asset: node.token.toLowerCase(),
      payTo: privateKeyToAddress(generatePrivateKey()).toLowerCase(),
      maxTimeoutSeconds: 300,
      extra: DOMAIN,
    }),
    async sign(accepted, count) {
      const payments: PaymentPayload[] = [];
      for (let i = 0; i < count; i++) {
        const payload = await signPayment(buyer, accepted, DOMAIN, Date.now());
        payments.push({ x402Version: 2, resource: { url: RESOURCE_URL }, accepted, payload });
      }
      return payments;
    },
    async transfersTo(payee) {
      const call = { abi: tokenAbi, functionName: "balanceOf" } as const;
      const data = encodeFunctionData({ ...call, args: [payee as Hex] });
      const answer = await node.rpc<Hex>("eth_call", [{ to: node.token, data }, "latest"]);
      return Number(decodeFunctionResult({ ...call, data: answer })) / Number(AMOUNT);
    },
  };
}
