import { env } from "cloudflare:workers";
import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { beforeEach, describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { db } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { ChangeSet } from "../../../src/escrow/fold/changes.ts";
import { writeChanges } from "../../../src/escrow/fold/write-changes.ts";
import { NOTHING_WANTED } from "../../../src/escrow/wanted.ts";
import { emptyTables } from "../../support/app.ts";
import { storedRecords } from "../../support/escrow/buying.ts";
import { QuoteDesk } from "../../support/escrow/quoting.ts";
import { insertKey } from "../../support/keys.ts";
import { settle } from "../../support/sources/sync.ts";

const PRIVATE_KEY = new Uint8Array(32).fill(7);
const PUBLIC_KEY = ed25519.getPublicKey(PRIVATE_KEY);
const STRANGER = formatAddress({
  network: "Preprod",
  payment: { kind: "key", hash: bytesToHex(blake2b(PUBLIC_KEY, { dkLen: 28 })) },
  stake: null,
});

/**
 * Signs as a wallet of another make does, with nothing of ours: `84 body a0 f5 f6` becomes
 * `84 body a1 00 d90102 81 82 5820 key 5840 signature f5 f6`.
 */
function signed(unsigned: string): Uint8Array {
  expect(unsigned).toMatch(/^84.*a0f5f6$/);
  const body = unsigned.slice(2, -6);
  const signature = ed25519.sign(blake2b(hexToBytes(body), { dkLen: 32 }), PRIVATE_KEY);
  const witness = `825820${bytesToHex(PUBLIC_KEY)}5840${bytesToHex(signature)}`;
  return hexToBytes(`84${body}a100d9010281${witness}f5f6`);
}

let desk: QuoteDesk;

beforeEach(emptyTables);

interface Lock {
  unsignedTxCbor: string;
  collateralReturnMinorUnit: string;
}
const lock = (
  blockchainIdentifier: string,
  headers: Record<string, string> = {},
  buyerAddress = STRANGER,
) =>
  desk.desk.ask<Lock>(
    "POST",
    "/payment/x402",
    { network: "Preprod", blockchainIdentifier, buyerAddress },
    headers,
  );

async function submit(cbor: Uint8Array): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${desk.desk.chain.url}/tx/submit`, {
    method: "POST",
    headers: { "content-type": "application/cbor", project_id: "local" },
    body: Uint8Array.from(cbor),
  });
  return { status: answer.status, text: await answer.text() };
}

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("POST /payment/x402 of %s", (type) => {
  it("builds a lock that a strange wallet signs, the ledger takes, and that pays the quote", async () => {
    desk = await QuoteDesk.open(type);
    await desk.agent();
    const { data: quote } = await desk.quote();
    expect(await lock(quote.blockchainIdentifier)).toMatchObject({
      status: 402,
      message: expect.stringMatching(/^buyerAddress: the wallet lacks /),
    });
    await desk.desk.ask("POST", "/wallet/transfer-funds", {
      fromWalletAddress: desk.desk.sellers[1].address,
      toAddress: STRANGER,
      minorUnitAmount: "50000000",
    });
    await desk.desk.settle(desk.desk.sellers[1]);

    const { status, data } = await lock(quote.blockchainIdentifier);
    expect(status).toBe(200);
    expect(data.collateralReturnMinorUnit).toMatch(/^\d+$/);
    const sent = await submit(signed(data.unsignedTxCbor));
    expect(sent, sent.text).toMatchObject({ status: 200 });
    await settle(desk.desk.chain, desk.desk.sourceId);
    const [payment] = await desk.payments();
    expect(payment).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
      CurrentTransaction: { txHash: JSON.parse(sent.text) },
      BuyerWallet: { walletVkey: bytesToHex(blake2b(PUBLIC_KEY, { dkLen: 28 })) },
    });
    expect((await lock(quote.blockchainIdentifier)).status).toBe(409);
    expect((await lock("ab".repeat(40))).status).toBe(404);

    const [{ address: seller }, { address: treasury }] = desk.desk.sellers;
    const { data: next } = await desk.quote();
    const { data: elsewherePaid } = await desk.quote({ sellerReturnAddress: treasury });
    const onePayee = {
      status: type === "Web3ChainV2" ? 400 : 200,
      ...(type === "Web3ChainV2" && {
        message: "buyerAddress: must be another address than the one the seller is paid at",
      }),
    };
    expect(await lock(next.blockchainIdentifier, {}, seller)).toMatchObject(onePayee);
    expect(await lock(elsewherePaid.blockchainIdentifier, {}, treasury)).toMatchObject(onePayee);
    expect((await lock(elsewherePaid.blockchainIdentifier, {}, seller)).status).toBe(200);

    await env.DB.prepare("UPDATE managed_wallet SET drives = 'finish'").run();
    expect(await lock(next.blockchainIdentifier)).toMatchObject({
      status: 503,
      message: `The selling wallet ${next.SmartContractWallet.id} begins no new escrows: its drives is finish`,
    });

    const elsewhere = await insertKey({ canPay: true, walletLimit: ["another"] });
    expect((await lock(quote.blockchainIdentifier, { token: elsewhere })).status).toBe(404);
  });
});

it("POST /payment/x402 builds the lock of the quote, whatever others have locked under its identifier elsewhere", async () => {
  desk = await QuoteDesk.open("Web3ChainV1");
  await desk.agent();
  const { data: quote } = await desk.quote();
  const [payment] = await storedRecords("payment");
  if (!payment) throw new Error("there is no payment");
  const { isRequested: _, ...terms } = payment.terms;
  const changes = new ChangeSet([], Date.now(), 0);
  for (const sourceId of ["0", "z"]) {
    const record = { ...payment, id: newId(Date.now()), sourceId, terms, rev: -1, sequence: 0 };
    changes.want(record, NOTHING_WANTED, { ...record.state, onChainState: "FundsLocked" });
  }
  await db(env).batch(writeChanges(changes, { sourceId: "0", network: "Preprod" }));
  // It got as far as looking at what the buyer holds.
  expect(await lock(quote.blockchainIdentifier)).toMatchObject({ status: 402 });
});
