import type { InvoiceContent } from "../model/invoice-content.ts";
import type { Formats } from "./formats.ts";
import type { TextStyle, Typesetter } from "./typesetter.ts";
import type { Vocabulary } from "./vocabulary.ts";

export const BODY_STYLE: TextStyle = { size: 9.5 };
export const SMALL_STYLE: TextStyle = { size: 8, grey: 0.35 };
export const LABEL_STYLE: TextStyle = { size: 8, grey: 0.45 };
export const STRONG_STYLE: TextStyle = { size: 9.5, bold: true };

/** A document being typeset, and what is needed for it. */
export interface RenderContext {
  page: Typesetter;
  number: string;
  content: InvoiceContent;
  vocabulary: Vocabulary;
  formats: Formats;
  /** An amount with its sign on this document: a cancellation's are negative. */
  amount(decimal: string): string;
}
