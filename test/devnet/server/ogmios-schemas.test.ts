import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { OPEN_ADDRESS, payment, plainWallet } from "../hand-built.ts";

/** A folder with `ogmios.json` and `cardano.json` of Ogmios 6, against which answers are held if there is one. */
const FOLDER = process.env.OGMIOS_SCHEMAS;
const alice = plainWallet("alice");

let devnet: Devnet;
let node: DevnetNode;
let lock: string;

beforeAll(async () => {
  devnet = await startDevnet();
  const funds = [{ address: alice.address, lovelace: 1_000_000_000n }];
  node = devnet.createChain("ogmios-schemas", { funds, autoMine: true });
  const to = [{ address: OPEN_ADDRESS, lovelace: 10_000_000n }];
  lock = Buffer.from(payment(node.chain, { from: alice, to })).toString("hex");
});
afterAll(() => devnet.close());

async function ask(method: string, params: object) {
  const url = node.url.replace("/api/v0", "/ogmios");
  const body = JSON.stringify({ jsonrpc: "2.0", method, params });
  const answer = await fetch(url, { method: "POST", body });
  return answer.json() as Promise<{ result?: object; error?: object }>;
}

function compile(folder: string, name: string) {
  const ajv = new Ajv({ strict: false, logger: false });
  for (const file of ["cardano.json", "ogmios.json"]) {
    const { $schema: _, $id: __, ...schema } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    // It requires `ada`, and forbids the name.
    if (schema.definitions?.Value) delete schema.definitions.Value.propertyNames;
    ajv.addSchema(schema, file);
  }
  return ajv.compile({ $ref: `ogmios.json#/properties/${name}` });
}

describe("an answer of the local chain's Ogmios", () => {
  it.each([
    ["QueryNetworkTipResponse", "queryNetwork/tip", () => ({})],
    ["QueryLedgerStateTipResponse", "queryLedgerState/tip", () => ({})],
    [
      "QueryLedgerStateProtocolParametersResponse",
      "queryLedgerState/protocolParameters",
      () => ({}),
    ],
    ["SubmitTransactionResponse", "submitTransaction", () => ({ transaction: { cbor: lock } })],
    ["SubmitTransactionResponse", "submitTransaction", () => ({ transaction: { cbor: "80" } })],
    ["EvaluateTransactionResponse", "evaluateTransaction", () => ({ transaction: { cbor: lock } })],
    [
      "QueryLedgerStateUtxoResponse",
      "queryLedgerState/utxo",
      () => ({ outputReferences: listReferences() }),
    ],
  ] as const)("is as %s asks: %s", async (name, method, params) => {
    const answer = await ask(method, params());
    expect(answer).toMatchObject({ jsonrpc: "2.0", method });
    const validate = FOLDER && compile(FOLDER, name);
    if (validate) expect([validate(answer), validate.errors]).toEqual([true, null]);
    if (method === "queryLedgerState/utxo") expect(answer.result).not.toEqual([]);
  });
});

/** All outputs of the chain. */
function listReferences() {
  return [...node.chain.view({}).outputs.values()].map(({ txHash, index }) => ({
    ...{ transaction: { id: txHash }, index },
  }));
}
