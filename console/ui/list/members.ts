/** The members of an opened row, and how each is shown. */
import { formatMemberName, lowerFirst } from "../format.ts";
import { textAt } from "../path.ts";
import type { ValueKind } from "../resource.ts";

export interface Member {
  /** What it is called, after what it is inside of. */
  title: string;
  path: string;
  name: string;
  value: unknown;
}

/** Everything that a row has, in words; what is empty is left to the raw JSON. */
export function listMembers(row: object): Member[] {
  return Object.entries(row).flatMap(([name, value]) =>
    membersOf(formatMemberName(name), name, name, value),
  );
}

function membersOf(title: string, path: string, name: string, value: unknown): Member[] {
  if (isEmpty(value)) return [];
  if (isObject(value))
    return Object.entries(value).flatMap(([inner, one]) =>
      membersOf(`${title}: ${lowerFirst(formatMemberName(inner))}`, `${path}.${inner}`, inner, one),
    );
  if (Array.isArray(value) && value.some((one) => isObject(one) && !isFlatObject(one)))
    return value.flatMap((one, i) => membersOf(`${title} ${i + 1}`, `${path}.${i}`, name, one));
  return [{ title, path, name, value }];
}

function isEmpty(value: unknown): boolean {
  return (
    value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length)
  );
}

function isFlatObject(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((one) => typeof one !== "object" || !one);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const amountOf = (funds: object) => textAt(funds, "amount") || textAt(funds, "quantity");

/** How a member is shown, by its name and its value. */
export function valueKindOf(name: string, value: unknown): ValueKind {
  if (typeof value === "boolean") return "flag";
  if (Array.isArray(value)) {
    if (value.length === 0) return "list";
    if (value.every((one) => isObject(one) && "unit" in one && /^\d+$/.test(amountOf(one))))
      return "funds";
    if (name === "changed") return "members";
    if (value.every((one) => typeof one !== "object")) return "list";
    return value.every(isFlatObject) ? "records" : "json";
  }
  if (typeof value === "object" && value !== null) return "json";
  if (/(^amount|Amount|threshold)$/.test(name) && /^\d+$/.test(String(value))) return "minor";
  if (/(At|From|Time|Until|since|Check|DateTime)$/.test(name) && typeof value === "string")
    return "time";
  if (/(^id|Id|Hash|Address|Vkey|VKey|Identifier|address|hash)$/.test(name)) return "code";
  if (/^(state|status|type|drives|onChainState|outcome|direction|kind)$/i.test(name)) return "tag";
  if (typeof value === "string" && /^[A-Z][A-Z\d]*(_[A-Z\d]+)+$/.test(value)) return "word";
  if (/(State|Status|Type|Format|Kind|Action|^step)$/i.test(name)) return "word";
  return typeof value === "string" && /^(0x)?[0-9a-f]{40,}$/.test(value) ? "code" : "text";
}
