/**
 * Serves the x402 SDK's facilitator as `POST /settle`, in a separate process:
 *
 *     node bench/x402/sdk-server.ts <JSON-RPC URL> <chain id> <account index>
 *
 * It sends its origin to the parent process and ends with it.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { createWalletClient, http, publicActions } from "viem";
import { evmAccount } from "../../devnet/evm/node.ts";

/**
 * How often viem looks for the block of a transaction. Its default is 500 ms for a chain of one-second
 * blocks, and 4 s for an unknown chain. The default alone would decide the figure.
 */
const POLLING_INTERVAL_MS = 100;

type Payment = Parameters<x402Facilitator["settle"]>;

const [rpcUrl = "", chainId = "", accountIndex = ""] = process.argv.slice(2);
const facilitator = createFacilitator();

const server = createServer(async (request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(await settle(await bodyOf(request))));
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.once("disconnect", () => process.exit());

function createFacilitator(): x402Facilitator {
  const account = evmAccount(Number(accountIndex));
  const chain = {
    id: Number(chainId),
    name: "local",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  };
  const client = createWalletClient({
    account,
    chain,
    transport: http(rpcUrl),
    pollingInterval: POLLING_INTERVAL_MS,
  }).extend(publicActions);
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never);
  return new x402Facilitator().register(`eip155:${Number(chainId)}`, new ExactEvmScheme(signer));
}

async function settle(body: { paymentPayload: Payment[0]; paymentRequirements: Payment[1] }) {
  try {
    return await facilitator.settle(body.paymentPayload, body.paymentRequirements);
  } catch (error) {
    return { success: false, errorReason: "unexpected_settle_error", errorMessage: String(error) };
  }
}

async function bodyOf(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
