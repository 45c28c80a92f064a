import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../chain/network.ts";
import { Conditions } from "../../db/conditions.ts";
import { firstIdAt } from "../../db/id.ts";
import type { Side } from "../model/escrow-record.ts";
import type { Viewer } from "./page-rows.ts";
import { buildScopeCondition } from "./scope-condition.ts";

/** The types that a query asks for: SQL has an arm for each, since its indexes begin with one. */
export function sourceTypesOf({
  filterPaymentSourceType: type,
}: {
  filterPaymentSourceType?: PaymentSourceType | undefined;
}): readonly PaymentSourceType[] {
  return type === undefined ? PAYMENT_SOURCE_TYPES : [type];
}

/** When records were made, epoch milliseconds: the first included, the last not. */
interface CreationPeriod {
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
}

/**
 * Conditions with numbered parameters, of which ?1 is the network. The side is a literal, here and in pages. SQLite
 * prepares a statement again for each value of a parameter that the condition of an index, or LIMIT, compares.
 */
export class EscrowConditions extends Conditions {
  constructor(side: Side, network: string) {
    super();
    this.add(`side = '${side}'`);
    this.add("network = ?", network);
  }

  /** Leaves out what a caller may not see. */
  restrictToViewer(viewer: Viewer | undefined): void {
    const condition = buildScopeCondition(viewer?.scope, (ids) => this.addParameter(ids));
    if (condition !== null) this.addNumbered(condition);
  }

  /** Only records made in a time: their ids begin with it. */
  restrictToCreationPeriod({ createdFrom, createdTo }: CreationPeriod): void {
    this.add("id >= ?", createdFrom === undefined ? undefined : firstIdAt(createdFrom));
    this.add("id < ?", createdTo === undefined ? undefined : firstIdAt(createdTo));
  }
}
