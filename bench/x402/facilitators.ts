/** The measured facilitators: our two endpoints, and the SDK's. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "../../devnet/client/wait.ts";
import { evmAccount } from "../../devnet/evm/node.ts";
import type { PaymentPayload, PaymentRequirements } from "../../src/x402/model/schemas.ts";
import { cpuMs } from "../support/process-cpu.ts";
import { type BenchService, call } from "../support/service.ts";
import { type PaymentChain, RESOURCE_URL } from "./chain.ts";
import { type CountingProxy, startCountingProxy } from "./proxy.ts";

/** What a facilitator says of a payment (x402 v2, specification §5). */
export interface SettleResponse {
  success: boolean;
  errorReason?: string;
  errorMessage?: string;
}

/** Settles one payment. */
export type Settle = (payment: PaymentPayload) => Promise<SettleResponse>;

export interface Facilitator {
  name: string;
  /** Proxy between the facilitator and its node. */
  proxy: CountingProxy;
  /** CPU milliseconds of its process so far. */
  cpuMs(): number;
  /** Gets ready for payments on these terms. */
  open(terms: PaymentRequirements): Promise<Settle>;
  /**
   * Waits for the work after the answers.
   *
   * @throws Error when its records show another number of settled payments to the payee
   */
  finish(payee: string, settled: number): Promise<void>;
}

/** The account of the node that the SDK's facilitator sends from. */
const SDK_ACCOUNT = 1;
const SDK_SERVER = fileURLToPath(new URL("sdk-server.ts", import.meta.url));
const POLL_MS = 20;
const STOPPED_AFTER_MS = 60_000;

/** Sets the service up through its API. Both of its endpoints settle by one wallet. */
export async function ourFacilitators(
  service: BenchService,
  proxy: CountingProxy,
  { network, fund }: PaymentChain,
): Promise<Facilitator[]> {
  const create = <Data>(what: string, body: object) =>
    call<Data>(service, `/api/v1/x402/${what}`, { method: "POST", body });
  await create("networks", { caip2Id: network, displayName: "Bench", rpcUrl: proxy.url });
  const wallet = await create<{ id: string; address: string }>("wallets", {
    caip2Network: network,
    type: "Selling",
  });
  await fund(wallet.address);
  await create("networks", { caip2Id: network, facilitatorWalletId: wallet.id });

  const { host, token } = service;
  const ours = {
    proxy,
    cpuMs: service.cpuMs,
    finish: (payee: string, settled: number) => checkBooks(service, payee, settled),
  };
  return [
    {
      ...ours,
      name: "ours, /x402/settle",
      async open({ asset, amount, payTo, maxTimeoutSeconds }) {
        const terms = { url: RESOURCE_URL, asset, amount, payTo, maxTimeoutSeconds };
        const source = await create<{ id: string }>("payment-sources", {
          ...terms,
          caip2Network: network,
        });
        return async (paymentPayload) => {
          const body = { supportedPaymentSourceId: source.id, paymentPayload };
          const url = `${host.url}/api/v1/x402/settle`;
          const answer = await post<{ data: { settleResponse: SettleResponse } }>(url, body, token);
          return answer.data.settleResponse;
        };
      },
    },
    {
      ...ours,
      name: "ours, plain /settle",
      open: async (terms) => plainSettle(`${host.url}/api/v1/x402/facilitator`, terms, token),
    },
  ];
}

/**
 * Checks that the dispatcher has seen every event, and that D1 has a separate transaction for each
 * payment.
 */
async function checkBooks({ host }: BenchService, payee: string, settled: number): Promise<void> {
  const undispatched = host.d1.prepare(
    "SELECT count(*) AS n FROM event WHERE seq > ifnull((SELECT seq FROM event_cursor), 0)",
  );
  await until(async () => (await undispatched.first<number>("n")) === 0, {
    what: "the events of settlements are dispatched",
    everyMs: POLL_MS,
    limitMs: STOPPED_AFTER_MS,
  });
  const recorded = await host.d1
    .prepare(
      `SELECT count(DISTINCT s.tx_hash) AS n
       FROM x402_payment_attempt a JOIN x402_settlement s ON s.attempt_id = a.id
       WHERE a.pay_to = ? AND a.status = 'Settled' AND s.success = 1`,
    )
    .bind(payee)
    .first<number>("n");
  if (recorded !== settled)
    throw new Error(`${recorded} settlements are recorded, ${settled} were answered`);
}

/** Starts the SDK's facilitator in a child process; `close` ends it. */
export async function startSdkFacilitator(
  chain: PaymentChain,
): Promise<Facilitator & { close(): Promise<void> }> {
  await chain.fund(evmAccount(SDK_ACCOUNT).address);
  const proxy = await startCountingProxy(chain.node.url);
  const server = fork(SDK_SERVER, [proxy.url, String(chain.node.chainId), String(SDK_ACCOUNT)]);
  const ended = once(server, "exit");
  const failed = ended.then(() => Promise.reject(new Error("the SDK's facilitator ended")));
  const [url] = (await Promise.race([once(server, "message"), failed])) as [string];
  const { pid } = server;
  if (pid === undefined) throw new Error("the SDK's facilitator has no process");
  return {
    name: "SDK",
    proxy,
    cpuMs: () => cpuMs(pid),
    open: async (terms) => plainSettle(url, terms),
    // It stores no records.
    finish: async () => {},
    async close() {
      server.kill();
      await ended;
      await proxy.close();
    },
  };
}

/** `POST /settle` of a facilitator (x402 v2, specification §7). */
function plainSettle(
  facilitator: string,
  paymentRequirements: PaymentRequirements,
  token = "",
): Settle {
  return (paymentPayload) => {
    const body = { x402Version: 2, paymentPayload, paymentRequirements };
    return post(`${facilitator}/settle`, body, token);
  };
}

async function post<Answer>(url: string, body: object, token: string): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    // A connection kept from the measurement before may have been closed by its server meanwhile.
    headers: { token, "content-type": "application/json", connection: "close" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${text}`);
  return JSON.parse(text) as Answer;
}
