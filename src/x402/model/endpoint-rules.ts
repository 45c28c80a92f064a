/** Who may call the operations about what a key has created. */
export const OWNER_RULES = { access: "+PAY", scope: "owner", tag: "x402" } as const;
/** Who may call the operations about all of the service. */
export const ADMIN_RULES = { access: "Admin", scope: "admin", tag: "x402" } as const;
/** Errors of operations that call RPC nodes. */
export const NODE_ERRORS = {
  502: "The RPC node failed.",
  504: "The RPC node did not answer in time.",
};
/** Errors of operations that verify a payment. */
export const VERIFY_ERRORS = {
  ...NODE_ERRORS,
  429: "Too many calls, or too many open settlements; see Retry-After.",
};
/** Errors of operations that settle a payment. */
export const SETTLE_ERRORS = {
  ...NODE_ERRORS,
  402: "The API key has no usage credits left.",
  409: "The authorization belongs to another attempt. The message names the attempt.",
};
