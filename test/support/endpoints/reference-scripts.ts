import type { EndpointCase, Field } from "./all.ts";

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["a"]];
const path = "/payment-source-extended/reference-script";
const id: Field = { name: "id", required: true, refused: ["", long(250), ...NOT_TEXT] };

/** Scripts of contracts that transactions read from the chain. */
export const REFERENCE_SCRIPT_ENDPOINTS: readonly EndpointCase[] = [
  {
    method: "GET",
    path,
    access: "Admin",
    valid: { id: "source" },
    fields: [{ ...id, refused: ["", long(250)] }],
    finds: 404,
  },
  {
    method: "POST",
    path,
    access: "Admin",
    valid: { id: "source", walletId: "wallet" },
    fields: [id, { name: "walletId", refused: ["", long(250), ...NOT_TEXT] }],
    finds: 404,
  },
  { method: "DELETE", path, access: "Admin", valid: { id: "source" }, fields: [id], finds: 404 },
];
