import { env } from "cloudflare:workers";
import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { beforeEach, describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { emptyTables } from "../../support/app.ts";
import { storedRecords } from "../../support/escrow/payment-source-fixture.ts";
import { QuoteFixture } from "../../support/escrow/quote-fixture.ts";
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
 * Signs as a foreign wallet does, without code of the service: `84 body a0 f5 f6` becomes `84 body
 * a1 00 d90102 81 82 5820 key 5840 signature f5 f6`.
 */
function signed(unsigned: string): Uint8Array {
  expect(unsigned).toMatch(/^84.*a0f5f6$/);
  const body = unsigned.slice(2, -6);
  const signature = ed25519.sign(blake2b(hexToBytes(body), { dkLen: 32 }), PRIVATE_KEY);
  const witness = `825820${bytesToHex(PUBLIC_KEY)}5840${bytesToHex(signature)}`;
  return hexToBytes(`84${body}a100d9010281${witness}f5f6`);
}

let fixture: QuoteFixture;

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
  fixture.fixture.ask<Lock>(
    "POST",
    "/payment/x402",
    { network: "Preprod", blockchainIdentifier, buyerAddress },
    headers,
  );

async function submit(cbor: Uint8Array): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${fixture.fixture.chain.url}/tx/submit`, {
    method: "POST",
    headers: { "content-type": "application/cbor", project_id: "local" },
    body: Uint8Array.from(cbor),
  });
  return { status: answer.status, text: await answer.text() };
}

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("POST /payment/x402 of %s", (type) => {
  it("builds a lock that a strange wallet signs, the ledger takes, and that pays the quote", async () => {
    fixture = await QuoteFixture.open(type);
    await fixture.agent();
    const { data: quote } = await fixture.quote();
    expect(await lock(quote.blockchainIdentifier)).toMatchObject({
      status: 402,
      message: expect.stringMatching(/^buyerAddress: the wallet lacks /),
    });
    await fixture.fixture.ask("POST", "/wallet/transfer-funds", {
      fromWalletAddress: fixture.fixture.sellers[1].address,
      toAddress: STRANGER,
      minorUnitAmount: "50000000",
    });
    await fixture.fixture.settle(fixture.fixture.sellers[1]);

    const { status, data } = await lock(quote.blockchainIdentifier);
    expect(status).toBe(200);
    expect(data.collateralReturnMinorUnit).toMatch(/^\d+$/);
    const sent = await submit(signed(data.unsignedTxCbor));
    expect(sent, sent.text).toMatchObject({ status: 200 });
    await settle(fixture.fixture.chain, fixture.fixture.sourceId);
    const [payment] = await fixture.payments();
    expect(payment).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null },
      CurrentTransaction: { txHash: JSON.parse(sent.text) },
      BuyerWallet: { walletVkey: bytesToHex(blake2b(PUBLIC_KEY, { dkLen: 28 })) },
    });
    expect((await lock(quote.blockchainIdentifier)).status).toBe(409);
    expect((await lock("ab".repeat(40))).status).toBe(404);

    const [{ address: seller }, { address: treasury }] = fixture.fixture.sellers;
    const { data: next } = await fixture.quote();
    const { data: elsewherePaid } = await fixture.quote({ sellerReturnAddress: treasury });
    const onePayee = {
      status: type === "Web3ChainV2" ? 400 : 200,
      ...(type === "Web3ChainV2" && {
        message: "buyerAddress: must differ from the seller's payout address",
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
  fixture = await QuoteFixture.open("Web3ChainV1");
  await fixture.agent();
  const { data: quote } = await fixture.quote();
  const [payment] = await storedRecords("payment");
  if (!payment) throw new Error("there is no payment");
  const { isRequested: _, ...terms } = payment.terms;
  const changes = new ChangeSet([], Date.now(), 0);
  for (const sourceId of ["0", "z"]) {
    const record = {
      ...payment,
      id: newId(Date.now()),
      sourceId,
      terms,
      revision: -1,
      sequence: 0,
    };
    changes.setProgress(record, IDLE_PROGRESS, { ...record.state, onChainState: "FundsLocked" });
  }
  await openDb(env).batch(writeChanges(changes, { sourceId: "0", network: "Preprod" }));
  // It got as far as looking at what the buyer holds.
  expect(await lock(quote.blockchainIdentifier)).toMatchObject({ status: 402 });
});
