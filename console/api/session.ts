/** Who uses the console: the API key of this tab, which is forgotten when the tab is closed. */
import { signal } from "@preact/signals";

const STORED_AS = "key";

/** What a key may do, each more than the one before. */
export const ACCESS = ["User", "+PAY", "Admin"] as const;
export type Access = (typeof ACCESS)[number];

/** What `GET /api-key-status` tells of the key in use. */
export interface KeyStatus {
  id: string;
  token: string;
  canPay: boolean;
  canAdmin: boolean;
  networkLimit: string[];
}

/** The key in use; null: nobody is signed in. */
export const key = signal(sessionStorage.getItem(STORED_AS));
/** Null until the API has told. */
export const keyStatus = signal<KeyStatus | null>(null);
/** Why the last session ended, for the sign-in page. */
export const farewell = signal<string | null>(null);

export function signIn(token: string, status: KeyStatus): void {
  sessionStorage.setItem(STORED_AS, token);
  keyStatus.value = status;
  farewell.value = null;
  key.value = token;
}

/** @param why - what the sign-in page says about it */
export function signOut(why: string | null = null): void {
  sessionStorage.removeItem(STORED_AS);
  farewell.value = why;
  keyStatus.value = null;
  key.value = null;
}

/** Whether the key in use may do what needs an access. */
export function may(access: Access): boolean {
  const status = keyStatus.value;
  if (status === null) return false;
  if (access === "Admin") return status.canAdmin;
  return access === "User" || status.canPay;
}
