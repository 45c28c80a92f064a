/** What names an escrow, an agent and a side. */
import * as z from "zod";
import { described, named } from "../../http/openapi/fields.ts";
import { text } from "../../http/parameters.ts";

export const IDENTIFIER = `198160860cc106c01cb5081580a6e027004c046c7401802669a7d355825611b6${"0".repeat(64)}`;
export const AGENT = `7ea72154ce3a4156d425458cbe898f63da9b1799d2506049ea5f61e6${"a0681c8e2ba4095b".repeat(4)}`;

/** The identifier of an escrow in a request. */
export const givenIdentifier = described(
  text(8000),
  "The escrow's identifier, as its quote has it.",
  IDENTIFIER,
);

/** A side, where one list has both. */
export const escrowKind = named(
  "EscrowKind",
  "A side of an escrow.",
  z.enum(["Payment", "Purchase"]),
);
