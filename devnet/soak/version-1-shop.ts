/** A resource that is sold by version 1 of x402, and its buyer, who signs with a wallet of the service. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ApiAccess, ask } from "../client/api.ts";
import type { PayerAccess } from "../demo/x402/buyer.ts";
import { PAYEE } from "../demo/x402/resource.ts";
import type { EvmNode } from "../evm/node.ts";
import { keepingServer, listenLocally } from "../server/keeping.ts";

/** The network's name in version 1, which has names for public chains alone. */
export const NAMED_CHAIN = { id: 84_532, name: "base-sepolia" };
const PRICE = "10000";

export interface Version1Shop {
  url: string;
  close(): Promise<void>;
}

interface Terms {
  scheme: string;
  network: string;
  maxAmountRequired: string;
  resource: string;
  description: string;
  mimeType: string;
  payTo: string;
  maxTimeoutSeconds: number;
  asset: string;
  extra: { name: string; version: string };
}

/** Sells to whoever pays; the service verifies and settles as the shop's facilitator. */
export async function startVersion1Shop(
  seller: ApiAccess,
  node: Pick<EvmNode, "token">,
): Promise<Version1Shop> {
  async function sell(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const payment = request.headers["x-payment"];
    if (payment === undefined) {
      send(402, { x402Version: 1, error: "X-PAYMENT is required", accepts: [terms] });
      return;
    }
    const paymentPayload = JSON.parse(Buffer.from(String(payment), "base64").toString());
    const body = { x402Version: 1, paymentPayload, paymentRequirements: terms };
    const answer = await fetch(`${seller.url}/api/v1/x402/facilitator/settle`, {
      method: "POST",
      headers: { token: seller.token, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const settled = (await answer.json()) as { success?: boolean };
    send(settled.success ? 200 : 402, settled);
  }

  const server = keepingServer((request, response) => {
    sell(request, response).catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}/report`;
  const terms: Terms = {
    ...{ scheme: "exact", network: NAMED_CHAIN.name, maxAmountRequired: PRICE },
    ...{ resource: url, description: "A report", mimeType: "application/json" },
    ...{ payTo: PAYEE, maxTimeoutSeconds: 300, asset: node.token },
    extra: { name: "Test Dollar", version: "1" },
  };
  return {
    url,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Buys what a shop of version 1 sells. @throws Error when the shop refuses */
export async function buyInVersion1(url: string, payer: PayerAccess): Promise<void> {
  const { accepts } = (await (await fetch(url)).json()) as { accepts: [Terms] };
  const [{ network: _, maxAmountRequired: amount, scheme, asset, payTo, ...terms }] = accepts;
  const { maxTimeoutSeconds, extra } = terms;
  const accepted = { scheme, network: `eip155:${NAMED_CHAIN.id}`, amount, asset, payTo };
  // The authorization is the same in both versions.
  const { paymentPayload } = await ask<{ paymentPayload: { payload: object } }>(
    payer,
    "POST",
    "/x402/pay",
    {
      evmWalletId: payer.evmWalletId,
      paymentRequired: {
        x402Version: 2,
        resource: { url },
        accepts: [{ ...accepted, maxTimeoutSeconds, extra }],
      },
    },
  );
  const { payload } = paymentPayload;
  const payment = { x402Version: 1, scheme, network: NAMED_CHAIN.name, payload };
  const header = Buffer.from(JSON.stringify(payment)).toString("base64");
  const paid = await fetch(url, { headers: { "x-payment": header } });
  if (!paid.ok) throw new Error(`${url}: ${paid.status} ${await paid.text()}`);
}
