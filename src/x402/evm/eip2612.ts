/** A settlement that approves Permit2 by a permit of EIP-2612 (x402 extension `eip2612GasSponsoring`). */
import type { Hex } from "viem";
import * as z from "zod";
import type { PaymentPayload } from "../model/schemas.ts";
import { PERMIT2 } from "./addresses.ts";
import { hexAddress, type Permit2Authorization, uint256 } from "./authorization.ts";
import { SETTLE_TIME_SECONDS } from "./finality.ts";
import { isSameHex } from "./is-same-hex.ts";

/** Key of the x402 extension. */
export const EIP2612_EXTENSION = "eip2612GasSponsoring";

/** A permit of the payer for Permit2. `deadline` is in Unix seconds. */
export interface TokenPermit {
  value: bigint;
  deadline: bigint;
  /** 65 bytes. */
  signature: Hex;
}

const extension = z.object({
  info: z.object({
    from: hexAddress,
    asset: hexAddress,
    spender: hexAddress,
    amount: uint256,
    nonce: uint256,
    deadline: uint256,
    signature: z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]{130}$/)]),
    version: z.string().regex(/^\d+(\.\d+)*$/),
  }),
});

/**
 * The permit that a payment brings along.
 *
 * @param now - epoch milliseconds
 * @returns null: none. A reason of the SDK: the permit is not for this payment
 */
export function readPermit(
  { extensions }: PaymentPayload,
  { from, token }: Permit2Authorization,
  now: number,
): TokenPermit | { reason: string } | null {
  const sent = extensions?.[EIP2612_EXTENSION];
  // A client that signs no permit sends what the resource declares.
  if (!z.object({ info: z.object({ signature: z.unknown() }) }).safeParse(sent).success)
    return null;
  const { data } = extension.safeParse(sent);
  if (!data) return { reason: "invalid_eip2612_extension_format" };
  const { info } = data;
  if (!isSameHex(info.from, from)) return { reason: "eip2612_from_mismatch" };
  if (!isSameHex(info.asset, token)) return { reason: "eip2612_asset_mismatch" };
  if (!isSameHex(info.spender, PERMIT2)) return { reason: "eip2612_spender_not_permit2" };
  if (info.deadline < BigInt(Math.floor(now / 1000)) + SETTLE_TIME_SECONDS)
    return { reason: "eip2612_deadline_expired" };
  return { value: info.amount, deadline: info.deadline, signature: info.signature };
}
