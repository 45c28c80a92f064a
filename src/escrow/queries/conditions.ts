import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../chain/network.ts";
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
export class EscrowConditions {
  readonly params: unknown[];
  readonly conditions: string[];

  constructor(side: Side, network: string) {
    this.params = [network];
    this.conditions = [`side = '${side}'`, "network = ?1"];
  }

  /** Adds a condition, unless its value is left out. */
  addCondition(condition: string, value: unknown): void {
    if (value !== undefined) this.conditions.push(`${condition} ${this.addParameter(value)}`);
  }

  /** Leaves out what a caller may not see. */
  restrictToViewer(viewer: Viewer | undefined): void {
    const condition = buildScopeCondition(viewer?.scope, (ids) => this.addParameter(ids));
    if (condition !== null) this.conditions.push(condition);
  }

  /** Only records made in a time: their ids begin with it. */
  restrictToCreationPeriod({ createdFrom, createdTo }: CreationPeriod): void {
    this.addCondition("id >=", createdFrom === undefined ? undefined : firstIdAt(createdFrom));
    this.addCondition("id <", createdTo === undefined ? undefined : firstIdAt(createdTo));
  }

  addParameter(value: unknown): string {
    this.params.push(value);
    return `?${this.params.length}`;
  }

  /** SQL with its parameters numbered among the others. */
  bindParameters(sql: string, params: unknown[]): string {
    const numbered = params.map((value) => this.addParameter(value));
    return sql.replaceAll("?", () => numbered.shift() ?? "NULL");
  }

  toSql(): string {
    return this.conditions.join(" AND ");
  }
}
