import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../chain/network.ts";
import { firstIdAt } from "../../db/id.ts";
import type { Side } from "../model/record.ts";
import type { Viewer } from "./diff-page.ts";
import { withinScope } from "./within-scope.ts";

/** The types that a query asks for: SQL has an arm for each, since its indexes begin with one. */
export function typesOf({
  filterPaymentSourceType: type,
}: {
  filterPaymentSourceType?: PaymentSourceType | undefined;
}): readonly PaymentSourceType[] {
  return type === undefined ? PAYMENT_SOURCE_TYPES : [type];
}

/** When records were made, epoch milliseconds: the first included, the last not. */
interface MadeBetween {
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
}

/** Conditions with numbered parameters, of which ?1 is the side and ?2 the network. */
export class Conditions {
  readonly params: unknown[];
  readonly conditions = ["side = ?1", "network = ?2"];

  constructor(side: Side, network: string) {
    this.params = [side, network];
  }

  /** Adds a condition, unless its value is left out. */
  where(condition: string, value: unknown): void {
    if (value !== undefined) this.conditions.push(`${condition} ${this.parameter(value)}`);
  }

  /** Leaves out what a caller may not see. */
  only(viewer: Viewer | undefined): void {
    const condition = withinScope(viewer?.scope, (ids) => this.parameter(ids));
    if (condition !== null) this.conditions.push(condition);
  }

  /** Only records made in a time: their ids begin with it. */
  made({ createdFrom, createdTo }: MadeBetween): void {
    this.where("id >=", createdFrom === undefined ? undefined : firstIdAt(createdFrom));
    this.where("id <", createdTo === undefined ? undefined : firstIdAt(createdTo));
  }

  parameter(value: unknown): string {
    this.params.push(value);
    return `?${this.params.length}`;
  }

  /** SQL with its parameters numbered among the others. */
  splice(sql: string, params: unknown[]): string {
    const numbered = params.map((value) => this.parameter(value));
    return sql.replaceAll("?", () => numbered.shift() ?? "NULL");
  }

  sql(): string {
    return this.conditions.join(" AND ");
  }
}
