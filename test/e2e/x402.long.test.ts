import { x402Client } from "@x402/core/client";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  x402HTTPClient,
} from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NETWORK } from "../../devnet/demo/x402/rail.ts";
import { giveDollars } from "../../devnet/evm/money.ts";
import { PERMIT2_PROXY } from "../../devnet/evm/node.ts";
import { freePort, killCopies, ready, records, run, start, stop } from "./copies.ts";
import { PRICE, read, type Settlement, X402Demo } from "./x402-demo.ts";

describe("npm start sells a resource by x402", () => {
  let demo: X402Demo;
  /** What the demo's buyer has paid, newest first. */
  let settlements: Settlement[];
  beforeAll(async () => {
    demo = await X402Demo.of(start(await freePort(), "--idle"));
    settlements = await demo.play();
  });
  afterAll(killCopies);

  it("and answers 402 with terms that the SDK reads, in the header and in the body", async () => {
    const { body, ...required } = await demo.terms();
    const { Networks } = await demo.get<{ Networks: Record<string, string>[] }>("/x402/networks");
    expect(Networks).toMatchObject([{ caip2Id: NETWORK }]);
    const terms = {
      scheme: "exact",
      network: NETWORK,
      amount: String(PRICE),
      asset: Networks[0]?.defaultAsset,
      payTo: expect.stringMatching(/^0x[0-9a-f]{40}$/),
    };
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: demo.resource },
      accepts: [terms, { ...terms, extra: { assetTransferMethod: "permit2" } }],
    });
    expect(body).toEqual(required);
  });

  it("to a buyer who has paid by EIP-3009 and by Permit2, as the node tells too", async () => {
    expect(settlements).toMatchObject([
      { success: true, amount: String(PRICE) },
      { success: true, amount: String(PRICE) },
    ]);
    const { PaymentAttempts } = await demo.get<{ PaymentAttempts: Record<string, string>[] }>(
      `/x402/payments?status=Settled&direction=InboundSettle&caip2Network=${NETWORK}`,
    );
    expect(PaymentAttempts).toMatchObject(
      settlements.map(({ attemptId, txHash }) => ({
        id: attemptId,
        resource: demo.resource,
        Settlement: { txHash },
      })),
    );
    const [{ asset } = { asset: "" }] = (await demo.terms()).accepts;
    expect(await demo.receipts(settlements)).toMatchObject([
      { status: "0x1", to: PERMIT2_PROXY.toLowerCase() },
      { status: "0x1", to: asset },
    ]);
    expect(await demo.earned()).toBe(2n * PRICE);
    const { Budgets } = await demo.get<{ Budgets: Record<string, string>[] }>("/x402/budgets");
    expect(Budgets).toMatchObject([{ spentAmount: String(2n * PRICE), remainingAmount: "980000" }]);
  });

  it("and the events of the payments arrive at the receiver, verified", async () => {
    const settled = settlements.map(({ txHash }) => txHash).sort();
    const arrived = async () => {
      const arrivals = (await (await fetch(`${demo.receiver}/webhooks`)).json()) as {
        body: string;
      }[];
      return arrivals
        .map(({ body }) => JSON.parse(body) as { type: string; data: { txHash: string } })
        .filter(({ type }) => type === "X402_PAYMENT_SETTLED")
        .map(({ data }) => data.txHash)
        .sort();
    };
    await expect.poll(arrived, { interval: 250 }).toEqual(settled);
    const overview = await (await fetch(demo.receiver)).text();
    const lines = overview.split("\n").filter((line) => line.includes("X402_PAYMENT_SETTLED"));
    expect(lines.map((line) => line.split("  ").at(-1))).toEqual(["verified", "verified"]);
  });

  it("again for another payment, and never twice for the same", async () => {
    const before = await demo.earned();
    const first = await demo.buy("eip3009");
    const second = await demo.buy("permit2");
    const paid = [first, second].map(({ settlement }) => decodePaymentResponseHeader(settlement));
    expect(paid).toMatchObject([{ success: true }, { success: true }]);
    expect(paid[0]?.transaction).not.toBe(paid[1]?.transaction);
    expect(await demo.earned()).toBe(before + 2n * PRICE);

    const { signature, settlement, body } = first;
    const repeated = await fetch(demo.resource, { headers: { "payment-signature": signature } });
    expect(repeated.status).toBe(200);
    expect(repeated.headers.get("payment-response")).toBe(settlement);
    expect(await repeated.text()).toBe(body);
    expect(await demo.earned()).toBe(before + 2n * PRICE);
    const { PaymentAttempts } = await demo.get<{ PaymentAttempts: object[] }>(
      "/x402/payments?take=1",
    );
    expect(PaymentAttempts).toMatchObject([
      { status: "Replayed", Settlement: { txHash: paid[0]?.transaction } },
    ]);
  });

  it("to the SDK's client, whose wallet is its own", async () => {
    const before = await demo.earned();
    const account = privateKeyToAccount(generatePrivateKey());
    const schemes = [{ network: NETWORK, client: new ExactEvmScheme(account) } as const];
    const client = new x402HTTPClient(x402Client.fromConfig({ schemes, spendControls: false }));
    const unpaid = await fetch(demo.resource);
    const required = client.getPaymentRequiredResponse((name) => unpaid.headers.get(name));
    const [{ asset } = { asset: "" }] = required.accepts;
    const rpc = demo.rpc.bind(demo);
    await giveDollars({ rpc, token: asset as Hex }, account.address, PRICE);

    const payload = await client.createPaymentPayload(required);
    const paid = await fetch(demo.resource, {
      headers: client.encodePaymentSignatureHeader(payload),
    });
    expect(await client.processResponse(paid)).toMatchObject({
      status: 200,
      paymentStatus: "settled",
      header: { success: true, payer: account.address.toLowerCase(), amount: String(PRICE) },
    });
    expect(await demo.earned()).toBe(before + PRICE);
  });

  it("and refuses what does not pay for it: no base64, other terms, an empty purse", async () => {
    const before = await demo.earned();
    const pay = (payload: unknown) =>
      fetch(demo.resource, {
        headers: {
          "payment-signature": Buffer.from(JSON.stringify(payload)).toString("base64"),
        },
      });
    const undecodable = await fetch(demo.resource, { headers: { "payment-signature": "{}" } });
    expect(undecodable.status).toBe(400);

    const [terms] = (await demo.terms()).accepts;
    const account = privateKeyToAccount(generatePrivateKey());
    const client = x402Client.fromConfig({
      schemes: [{ network: NETWORK, client: new ExactEvmScheme(account) }],
      spendControls: false,
    });
    const { body: _, ...required } = await demo.terms();
    const unfunded = await client.createPaymentPayload(required);
    const cheaper = await pay({ ...unfunded, accepted: { ...terms, amount: "1" } });
    expect(cheaper.status).toBe(400);
    expect(await cheaper.json()).toMatchObject({
      error: expect.stringContaining("accepted.amount"),
    });

    const empty = await pay(unfunded);
    expect(empty.status).toBe(402);
    expect(decodePaymentRequiredHeader(empty.headers.get("payment-required") ?? "")).toMatchObject({
      error: "invalid_exact_evm_insufficient_balance",
    });
    expect(await demo.earned()).toBe(before);
  });
});

describe("npm start where no EVM node runs", () => {
  afterEach(killCopies);

  it("says in one line that x402 is left out, and serves everything else", async () => {
    // As on a platform for which there is no such package.
    const missing = `import { registerHooks } from "node:module";
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier.startsWith("@foundry-rs/")) throw new Error("not found");
          return next(specifier, context);
        },
      });`;
    const copy = run(process.execPath, ["devnet/start.ts", "--idle"], {
      PORT: String(await freePort()),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(missing)}`,
    });
    const { url, adminKey } = await ready(copy);
    expect(copy.stdout.match(/^.*x402.*$/gm)).toEqual([
      expect.stringMatching(
        /^ {2}x402 +left out: the package @foundry-rs\/anvil-\S+ is not installed$/,
      ),
    ]);
    const { Networks } = await read<{ Networks: object[] }>(
      `${url}/api/v1/x402/networks`,
      adminKey,
    );
    expect(Networks).toEqual([]);
    expect(await records({ url, adminKey }, "payment")).toEqual([]);
    expect(await stop(copy)).toBe(0);
  });
});
