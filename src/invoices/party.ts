import { unlessBlank } from "./printed.ts";

/** A seller or a buyer as in the interface. */
export interface Party {
  country: string;
  city: string;
  zipCode: string;
  street: string;
  streetNumber: string;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  name?: string | null | undefined;
  companyName?: string | null | undefined;
  vatNumber?: string | null | undefined;
}

/** A party with null for blank and omitted members: all mean the same, so they give the same invoice. */
export function partyOf(sent: Party): Party {
  return {
    ...sent,
    email: unlessBlank(sent.email),
    phone: unlessBlank(sent.phone),
    name: unlessBlank(sent.name),
    companyName: unlessBlank(sent.companyName),
    vatNumber: unlessBlank(sent.vatNumber),
  };
}

/** A party's first line: its company, else its name. */
export function nameOf({ companyName, name }: Party): string {
  return companyName?.trim() || name?.trim() || "";
}
