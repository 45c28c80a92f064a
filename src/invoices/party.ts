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

/** Who a party is, on the first line: its company, else its name. */
export function nameOf({ companyName, name }: Party): string {
  return companyName?.trim() || name?.trim() || "";
}
