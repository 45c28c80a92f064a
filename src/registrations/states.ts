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
export type RegistrationPurpose = "Registration" | "Deregistration" | "Update";

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
const UPDATABLE_STATES: readonly RegistrationState[] = [
  "RegistrationConfirmed",
  "UpdateConfirmed",
  "UpdateFailed",
];
const DELETABLE_STATES: readonly RegistrationState[] = [
  "RegistrationFailed",
  "DeregistrationConfirmed",
];

/** Whether a deregistration may be requested. */
export function mayDeregister(kind: RegistrationKind, state: RegistrationState): boolean {
  return DEREGISTERABLE_STATES[kind].includes(state);
}

/** Whether an update of an agent may be requested. */
export function mayUpdate(state: RegistrationState): boolean {
  return UPDATABLE_STATES.includes(state);
}

/** Whether the record may be permanently removed. */
export function mayDelete(state: RegistrationState): boolean {
  return DELETABLE_STATES.includes(state);
}

/** The operation of a state. */
export function purposeOfState(state: RegistrationState): RegistrationPurpose {
  if (state.startsWith("Deregistration")) return "Deregistration";
  return state.startsWith("Registration") ? "Registration" : "Update";
}

/** The operation of a state that ends with `Requested` or `Initiated`; null in any other. */
export function findOpenPurpose(state: RegistrationState): RegistrationPurpose | null {
  return /(Requested|Initiated)$/.test(state) ? purposeOfState(state) : null;
}

/**
 * Names a wallet's task: minting and burning a registration's token are two, and each update is
 * another.
 *
 * @param now - time of the request, epoch milliseconds
 */
export const taskIdOf = (rowId: string, purpose: RegistrationPurpose, now: number): string =>
  purpose === "Update" ? `${rowId}:${purpose}:${now}` : `${rowId}:${purpose}`;
