import { MOVED_AUDIT } from "../api-keys/archived-audit.ts";
import type { MovedKind } from "../archive/moved-kind.ts";
import { MOVED_ESCROWS } from "../escrow/store/archived-escrows.ts";
import { MOVED_ATTEMPTS } from "../x402/attempts/archived-attempts.ts";

/** What moves to archives. */
export const MOVED_KINDS: readonly MovedKind[] = [MOVED_ESCROWS, MOVED_ATTEMPTS, MOVED_AUDIT];
