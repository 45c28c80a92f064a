import { bytesToHex } from "@noble/hashes/utils.js";
import type { LedgerScript } from "../transaction.ts";
import { type BlockfrostRequest, type Handler, notFound, param } from "./request.ts";

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
