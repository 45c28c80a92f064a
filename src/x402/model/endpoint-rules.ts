/** Who may call the operations about what a key has created. */
export const OWNER_RULES = { access: "+PAY", scope: "owner", tag: "x402" } as const;
/** Who may call the operations about all of the service. */
export const ADMIN_RULES = { access: "Admin", scope: "admin", tag: "x402" } as const;
