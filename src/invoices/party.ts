/** A seller or a buyer as the interface has it. */
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

/** A party with null for what was left out: both say the same, so they give the same invoice. */
export function partyOf(sent: Party): Party {
  const { email = null, phone = null, name = null, companyName = null, vatNumber = null } = sent;
  return { ...sent, email, phone, name, companyName, vatNumber };
}

/** Who a party is, on the first line: its company, else its name. */
export function nameOf({ companyName, name }: Party): string {
  return companyName?.trim() || name?.trim() || "";
}
