import { bytesToHex } from "@noble/hashes/utils.js";
import type { LedgerScript } from "../ledger/transaction.ts";
import { paged } from "./paging.ts";
import { type BlockfrostRequest, type Handler, notFound, param } from "./request.ts";
import { redeemerRows } from "./transactions.ts";

export const scriptHandlers: Record<string, Handler> = {
  "GET /scripts/{script_hash}": (request) => {
    const { hash, type, cbor } = scriptOf(request);
    return {
      script_hash: hash,
      type,
      serialised_size: type === "timelock" ? null : cbor.length,
    };
  },

  "GET /scripts/{script_hash}/cbor": (request) => {
    const { type, cbor } = scriptOf(request);
    return { cbor: type === "timelock" ? null : bytesToHex(cbor) };
  },

  "GET /scripts/{script_hash}/redeemers": (request) => {
    const { hash } = scriptOf(request);
    const { view } = request;
    const rows = [...view.transactions.values()].flatMap(({ tx }) =>
      redeemerRows(view, tx).flatMap(({ script_hash, ...row }) =>
        script_hash === hash ? [{ tx_hash: tx.hash, ...row }] : [],
      ),
    );
    return paged(request, rows);
  },

  "GET /scripts/datum/{datum_hash}/cbor": (request) => {
    const cbor = request.view.datums.get(param(request, "datum_hash"));
    if (!cbor) throw notFound();
    return { cbor };
  },
};

/** Scripts are known from the first transaction that runs or carries them. */
function scriptOf(request: BlockfrostRequest): LedgerScript {
  const script = request.view.scripts.get(param(request, "script_hash"));
  if (!script) throw notFound();
  return script;
}
