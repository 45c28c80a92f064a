/** The name of the feature in stored transactions. */
export const REGISTRATION_FEATURE = "registration";

/** States of a registration, as the interface names them; see docs/registration.md. */
export const REGISTRATION_STATES = [
  "RegistrationRequested",
  "RegistrationInitiated",
  "RegistrationConfirmed",
  "RegistrationFailed",
  "DeregistrationRequested",
  "DeregistrationInitiated",
  "DeregistrationConfirmed",
  "DeregistrationFailed",
  "UpdateRequested",
  "UpdateInitiated",
  "UpdateConfirmed",
  "UpdateFailed",
] as const;
export type RegistrationState = (typeof REGISTRATION_STATES)[number];

export const REGISTRATION_KINDS = ["Agent", "InboxAgent"] as const;
export type RegistrationKind = (typeof REGISTRATION_KINDS)[number];

/** What a wallet does for a registration. */
export type RegistrationPurpose = "Registration" | "Deregistration";

/** The states selected by a list's `filterStatus`. */
export const STATUS_FILTERS = {
  Registered: ["RegistrationConfirmed", "UpdateConfirmed"],
  Deregistered: ["DeregistrationConfirmed"],
  Pending: [
    "RegistrationRequested",
    "RegistrationInitiated",
    "DeregistrationRequested",
    "DeregistrationInitiated",
    "UpdateRequested",
    "UpdateInitiated",
  ],
  Failed: ["RegistrationFailed", "DeregistrationFailed", "UpdateFailed"],
} as const satisfies Record<string, readonly RegistrationState[]>;

const DEREGISTERABLE_STATES: Record<RegistrationKind, readonly RegistrationState[]> = {
  Agent: ["RegistrationConfirmed", "UpdateConfirmed", "UpdateFailed", "DeregistrationFailed"],
  InboxAgent: ["RegistrationConfirmed", "DeregistrationFailed"],
};
const DELETABLE_STATES: readonly RegistrationState[] = [
  "RegistrationFailed",
  "DeregistrationConfirmed",
];

/** Whether a deregistration may be requested. */
export function mayDeregister(kind: RegistrationKind, state: RegistrationState): boolean {
  return DEREGISTERABLE_STATES[kind].includes(state);
}

/** Whether the record may be permanently removed. */
export function mayDelete(state: RegistrationState): boolean {
  return DELETABLE_STATES.includes(state);
}

/** The operation of a state; null in the states of an update. */
export function purposeOfState(state: RegistrationState): RegistrationPurpose | null {
  if (state.startsWith("Deregistration")) return "Deregistration";
  return state.startsWith("Registration") ? "Registration" : null;
}

/** The operation of a state that ends with `Requested` or `Initiated`; null in any other. */
export function findOpenPurpose(state: RegistrationState): RegistrationPurpose | null {
  return /(Requested|Initiated)$/.test(state) ? purposeOfState(state) : null;
}

/** Whether a transaction may be pending. */
export function isInitiated(state: RegistrationState): boolean {
  return state.endsWith("Initiated");
}

/** Names a wallet's task: minting and burning a registration's token are two. */
export const taskIdOf = (rowId: string, purpose: RegistrationPurpose): string =>
  `${rowId}:${purpose}`;
