/**
 * A document that costs 0.01 Test Dollars. The server that sells it: an x402 v2 resource server
 * (specification §5, HTTP transport), which leaves verifying and settling to the service.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PaymentRequirements } from "../../../src/x402/model/schemas.ts";
import type { SettlePaymentResponse } from "../../../src/x402/settle/schemas.ts";
import { type ApiAccess, ask } from "../../client/api.ts";
import { NETWORK } from "./rail.ts";

const PATH = "/forecast";
const DOCUMENT = "Rain until noon, then clear. You paid for this.\n";
const DESCRIPTION = "Tomorrow's weather";
/** In the token's minor unit. */
const PRICE = "10000";
/** An account of the local node that nobody else uses. */
export const PAYEE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

const NOT_STORED = { "cache-control": "no-store" };

export interface PaidResource {
  url: string;
  close(): Promise<void>;
}

/** A resource that was registered with `POST /x402/payment-sources`. */
interface Source {
  id: string;
  requirements: PaymentRequirements;
}

/**
 * Starts the server on a free port and registers its resource, anew each time: what is registered
 * names the port.
 *
 * @throws when the service refuses.
 */
export async function startPaidResource(
  seller: ApiAccess,
  caip2Network = NETWORK,
): Promise<PaidResource> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  try {
    const source = await ask<Source>(seller, "POST", "/x402/payment-sources", {
      url,
      description: DESCRIPTION,
      caip2Network,
      amount: PRICE,
      payTo: PAYEE,
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      sell(seller, { ...source, url }, request, response).catch((error: unknown) => {
        send(response, 502, {}, { error: String(error) });
      });
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close };
}

/**
 * Answers 402 with the terms, or the document for a payment. What is sold is a document, so the same
 * payment sent again (`replay`) gets it again, as when the first answer was lost. A server whose
 * answers are worth something each has to refuse a replay instead.
 */
async function sell(
  seller: ApiAccess,
  source: Source & { url: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url !== PATH) return send(response, 404, {}, { error: `only ${PATH} is sold here` });
  const unpaid = (error: string, headers: Record<string, string> = {}) => {
    const terms = { x402Version: 2, error, ...offer(source) };
    send(response, 402, { ...headers, "payment-required": base64(terms) }, terms);
  };
  const signature = request.headers["payment-signature"];
  if (signature === undefined) return unpaid("PAYMENT-SIGNATURE is required");
  const paymentPayload = parse(String(signature));
  if (!paymentPayload)
    return send(response, 400, {}, { error: "PAYMENT-SIGNATURE: is no JSON in base64" });

  const answer = await fetch(`${seller.url}/api/v1/x402/settle`, {
    method: "POST",
    headers: { token: seller.token, "content-type": "application/json" },
    body: JSON.stringify({ supportedPaymentSourceId: source.id, paymentPayload }),
  });
  const { data, error } = (await answer.json()) as {
    data?: SettlePaymentResponse;
    error?: { message: string };
  };
  if (!data) {
    // 400: other terms than ours; 409: an authorization that has paid for something else.
    const isPayersFault = answer.status === 400 || answer.status === 409;
    return send(response, isPayersFault ? answer.status : 502, {}, { error: error?.message });
  }
  const { success, errorReason = "payment_failed" } = data.settleResponse;
  const headers = { "payment-response": base64(data.settleResponse) };
  if (success) {
    response.writeHead(200, { ...headers, ...NOT_STORED, "content-type": "text/plain" });
    response.end(DOCUMENT);
    return;
  }
  // A new payment in place of one that may still settle would be a second one.
  const retryAfter = answer.headers.get("retry-after");
  if (retryAfter === null) unpaid(errorReason, headers);
  else send(response, 503, { ...headers, "retry-after": retryAfter }, { error: errorReason });
}

/** The same price by either way of the scheme `exact` on EVM: EIP-3009 or Permit2. */
function offer({ url, requirements }: Source & { url: string }) {
  const permit2 = { ...requirements.extra, assetTransferMethod: "permit2" };
  return {
    resource: { url, description: DESCRIPTION, mimeType: "text/plain" },
    accepts: [requirements, { ...requirements, extra: permit2 }],
  };
}

function send(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: object,
): void {
  response.writeHead(status, { ...headers, ...NOT_STORED, "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64");

function parse(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  } catch {
    return null;
  }
}
