import {
  type CoseParts,
  type CoseSignature,
  isCoseSignatureValid,
  readCoseSign1,
} from "../../src/chain/cose.ts";

/** Parses a signature and verifies it. Null when the bytes are not COSE. */
export function verifyCoseSign1(cose: CoseSignature): (CoseParts & { valid: boolean }) | null {
  const parts = readCoseSign1(cose);
  return parts && { ...parts, valid: isCoseSignatureValid(parts) };
}
