/** Who uses the console: the API key of this tab, which is forgotten when the tab is closed. */
import { signal } from "@preact/signals";

const STORAGE_KEY = "key";

/** What a key may do, each more than the one before. */
export const ACCESS_LEVELS = ["User", "+PAY", "Admin"] as const;
export type Access = (typeof ACCESS_LEVELS)[number];

/** What `GET /api-key-status` tells of the key in use. */
export interface KeyStatus {
  id: string;
  token: string;
  canPay: boolean;
  canAdmin: boolean;
  networkLimit: string[];
}

/** The key in use; null: nobody is signed in. */
export const apiKey = signal(sessionStorage.getItem(STORAGE_KEY));
/** Null until the API has told. */
export const keyStatus = signal<KeyStatus | null>(null);
/** Why the last session ended, for the sign-in page. */
export const signOutReason = signal<string | null>(null);

export function signIn(token: string, status: KeyStatus): void {
  sessionStorage.setItem(STORAGE_KEY, token);
  keyStatus.value = status;
  signOutReason.value = null;
  apiKey.value = token;
}

/** @param why - what the sign-in page says about it */
export function signOut(why: string | null = null): void {
  sessionStorage.removeItem(STORAGE_KEY);
  signOutReason.value = why;
  keyStatus.value = null;
  apiKey.value = null;
}

/** Whether the key in use may do what needs an access. */
export function hasAccess(access: Access): boolean {
  const status = keyStatus.value;
  if (status === null) return false;
  if (access === "Admin") return status.canAdmin;
  return access === "User" || status.canPay;
}
