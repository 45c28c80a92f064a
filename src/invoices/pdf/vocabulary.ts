import type { CancellationReason, Language } from "../model/invoice-content.ts";

const ENGLISH = {
  invoice: "Invoice",
  cancellation: "Cancellation invoice",
  number: "Invoice number",
  date: "Invoice date",
  servicePeriod: "Service period",
  from: "From",
  to: "To",
  email: "Email",
  phone: "Phone",
  vatNumber: "VAT ID",
  greeting: "Thank you for using our services. We invoice the following:",
  closingText: "No further payment is needed.",
  position: "No.",
  description: "Description",
  quantity: "Jobs",
  unitPrice: "Unit price, net",
  lineTotal: "Total, net",
  netTotal: "Net total",
  /** Before the percentage. */
  vat: "VAT",
  total: "Total",
  rounding: "Rounding",
  paidTotal: "Already paid on the blockchain",
  amountDue: "Amount due",
  reverseChargeNotice:
    "Reverse charge: VAT is to be accounted for by the recipient (Art. 196, Directive 2006/112/EC).",
  outsideScopeNotice: "No VAT is charged.",
  zeroRateNotice: "VAT rate of zero.",
  conversion: "Conversion",
  asset: "Asset",
  nativeCoin: "Native coin",
  /** A unit that is not printed in whole coins. */
  smallestUnit: (name: string) => `${name}, minor unit`,
  amountPaid: "Amount paid",
  rate: "Rate per unit",
  source: "Source",
  rateDate: "Date",
  rateOfRequest: "Set by the issuer",
  rateNote: "The rate is for one of what the amount is counted in, a whole coin or its minor unit.",
  terms: "Terms",
  privacy: "Privacy",
  /** Of a cancellation, given number and date of the invoice. */
  cancels: (number: string, date: string) => `This cancels invoice ${number} of ${date}.`,
  reason: "Reason",
  reasons: {
    payments: "the billed payments changed",
    items: "prices, rates or taxes changed",
    seller: "the seller's details changed",
    buyer: "the buyer's details changed",
    texts: "texts or language changed",
    requested: "a new invoice was requested",
  } satisfies Record<CancellationReason, string>,
  unregisteredService: "unregistered service",
  buyerReference: "Your reference",
  /** The list of the payments that an invoice covers. */
  annex: "Annex: payments covered",
  annexNote:
    "Each amount is converted and rounded by itself, so their sum may differ from the total.",
  /** In place of a list that would be too long. */
  tooManyPayments: (count: string) =>
    `This invoice covers ${count} payments. They are too many to be listed here.`,
  job: "Date",
  agent: "Agent",
  transaction: "Transaction",
  /** The column of amounts in a currency, VAT included. */
  gross: (currency: string) => `${currency}, incl. VAT`,
  page: (page: number, pages: number) => `Page ${page} of ${pages}`,
};

/** Every word that we print, in one language. */
export type Vocabulary = typeof ENGLISH;

const GERMAN: Vocabulary = {
  invoice: "Rechnung",
  cancellation: "Stornorechnung",
  number: "Rechnungsnummer",
  date: "Rechnungsdatum",
  servicePeriod: "Leistungszeitraum",
  from: "Von",
  to: "An",
  email: "E-Mail",
  phone: "Telefon",
  vatNumber: "USt-IdNr.",
  greeting: "Vielen Dank für die Nutzung unserer Dienste. Wir berechnen folgende Leistungen:",
  closingText: "Eine weitere Zahlung ist nicht nötig.",
  position: "Pos.",
  description: "Beschreibung",
  quantity: "Aufträge",
  unitPrice: "Einzelpreis, netto",
  lineTotal: "Gesamt, netto",
  netTotal: "Summe netto",
  vat: "USt.",
  total: "Gesamtbetrag",
  rounding: "Rundung",
  paidTotal: "Bereits auf der Blockchain bezahlt",
  amountDue: "Zahlbetrag",
  reverseChargeNotice: "Steuerschuldnerschaft des Leistungsempfängers (§ 13b UStG).",
  outsideScopeNotice: "Es wird keine Umsatzsteuer berechnet.",
  zeroRateNotice: "Umsatzsteuersatz null.",
  conversion: "Umrechnung",
  asset: "Einheit",
  nativeCoin: "Native Währung",
  smallestUnit: (name) => `${name}, kleinste Einheit`,
  amountPaid: "Gezahlter Betrag",
  rate: "Kurs je Einheit",
  source: "Quelle",
  rateDate: "Datum",
  rateOfRequest: "Vom Aussteller festgelegt",
  rateNote:
    "Der Kurs gilt für eins von dem, was der Betrag zählt: eine Münze oder ihre kleinste Einheit.",
  terms: "Bedingungen",
  privacy: "Datenschutz",
  cancels: (number, date) => `Hiermit wird die Rechnung ${number} vom ${date} storniert.`,
  reason: "Grund",
  reasons: {
    payments: "die berechneten Zahlungen haben sich geändert",
    items: "Preise, Kurse oder Steuern haben sich geändert",
    seller: "die Angaben des Verkäufers haben sich geändert",
    buyer: "die Angaben des Käufers haben sich geändert",
    texts: "Texte oder Sprache haben sich geändert",
    requested: "eine neue Rechnung wurde angefordert",
  },
  unregisteredService: "nicht registrierter Dienst",
  buyerReference: "Ihre Referenz",
  annex: "Anlage: berechnete Zahlungen",
  annexNote:
    "Jeder Betrag ist für sich umgerechnet und gerundet; ihre Summe kann vom Gesamtbetrag abweichen.",
  tooManyPayments: (count) =>
    `Diese Rechnung umfasst ${count} Zahlungen. Das sind zu viele, um sie hier aufzuführen.`,
  job: "Datum",
  agent: "Agent",
  transaction: "Transaktion",
  gross: (currency) => `${currency}, inkl. USt.`,
  page: (page, pages) => `Seite ${page} von ${pages}`,
};

/** The words of a language. */
export function selectVocabulary(language: Language): Vocabulary {
  return language === "de" ? GERMAN : ENGLISH;
}
