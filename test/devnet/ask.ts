import { askControl, askProvider, type ProviderAnswer } from "../../devnet/client/chain.ts";
import type { DevnetNode } from "../../devnet/server/node.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Asked = ProviderAnswer<any>;

/** Calls a node's provider API as a client with a valid project id would. */
export function ask(node: DevnetNode, path: string, init: RequestInit = {}): Promise<Asked> {
  return askProvider(node.url, path, init);
}

/** Hands a transaction to the provider. */
export function submit(node: DevnetNode, cbor: Uint8Array): Promise<Asked> {
  const headers = { "content-type": "application/cbor" };
  return ask(node, "/tx/submit", { method: "POST", headers, body: new Uint8Array(cbor) });
}

/** The rules that a refused submission broke, as the node shows them. */
export function brokenRules({ status, body }: Asked): string[] {
  if (status !== 400) throw new Error(`${status} ${JSON.stringify(body)}`);
  const { tag, contents } = JSON.parse(body.message);
  if (tag !== "TxSubmitFail") throw new Error(body.message);
  return contents.contents.contents.error;
}

/** Asks what the scripts of a transaction cost. */
export function evaluated(
  node: DevnetNode,
  cbor: Uint8Array,
  additionalUtxoSet: unknown[] = [],
): Promise<Asked> {
  const body = JSON.stringify({ cbor: Buffer.from(cbor).toString("hex"), additionalUtxoSet });
  return ask(node, "/utils/txs/evaluate/utxos", { method: "POST", body });
}

/** Calls `/_control`. */
export function control(origin: string, path: string, body: unknown = {}): Promise<Asked> {
  return askControl(origin, path, body);
}
