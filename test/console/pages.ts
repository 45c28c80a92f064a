/** The console's pages held against the API's own document. */
import type { Side } from "../../console/pages/escrow/sides.ts";
import { listAllActions } from "../../console/pages/escrow/steps.ts";
import type {
  Action,
  Field,
  FormList,
  PageDefinition,
  Resource,
} from "../../console/ui/resource.ts";

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Operation {
  parameters?: ({ $ref: string } | Parameter)[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: Schema }> }>;
}

interface Parameter {
  name: string;
  in: string;
}

export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

/** What pages name that the API does not have; each as `page: what`. */
export function unknownNames(document: ApiDocument, pages: readonly PageDefinition[]): string[] {
  const names = pages.flatMap((page) =>
    page.tabs.flatMap((tab) =>
      ofTab(document, tab).map((name) => `${page.name}/${tab.name}: ${name}`),
    ),
  );
  const links = pages.flatMap(({ tabs }) =>
    tabs.flatMap(({ related = [] }) =>
      related.flatMap(({ page, tab, query }) => {
        const target = pages.find(({ name }) => name === page)?.tabs;
        const list = tab ? target?.find(({ name }) => name === tab) : target?.[0];
        const filters = list?.filters?.map(({ name }) => name) ?? [];
        return Object.keys(query)
          .filter((name) => !filters.includes(name))
          .map((name) => `${page}/${tab}: ${name}`);
      }),
    ),
  );
  return [...names, ...links];
}

function ofTab(document: ApiDocument, tab: Resource): string[] {
  const {
    method = "GET",
    path,
    rowsMember: rows,
    columns,
    details = [],
    filters = [],
    related = [],
    key = "id",
  } = tab;
  const operation = operationOf(document, method, path);
  if (!operation) return [`no ${method} ${path}`];
  const row = follow(document, answerOf(document, operation), `${rows}.0`);
  const inRow = [
    ...[...columns, ...details].flatMap(({ path: at, chainFrom }) => [at, chainFrom ?? []].flat()),
    ...[key].flat(),
    ...related.flatMap(({ query, id }) => [...Object.values(query), ...(id ? [id] : [])]),
  ];
  const asked = [...filters.map(({ name }) => name), ...Object.keys(tab.cursor ?? {})];
  return [
    ...inRow.filter((at) => follow(document, row, at).length === 0).map((at) => `row has no ${at}`),
    ...sentUnknown(document, operation, method, asked),
    ...filters.flatMap((field) => ofKnown(document, field)),
    ...[...columns, ...details].flatMap(({ heading, knownIds }) =>
      knownIds ? ofKnown(document, { name: heading, label: heading, knownIds }) : [],
    ),
    ...[...(tab.creates ?? []), ...(tab.actions ?? [])].flatMap((action) =>
      ofAction(document, action, row),
    ),
  ];
}

/** What actions on escrows name that the API does not have. */
export function unknownSteps(document: ApiDocument, side: Side): string[] {
  const operation = operationOf(document, "GET", `/${side}`);
  const list = side === "payment" ? "Payments" : "Purchases";
  const row = operation ? follow(document, answerOf(document, operation), `${list}.0`) : [];
  return listAllActions(side).flatMap((action) => ofAction(document, action, row));
}

/** What an action names that its operation does not take or answer. */
function ofAction(document: ApiDocument, action: Action, row: Schema[]): string[] {
  const { method, path, fields = [], fromRow = {}, fixed = {}, hasNetwork, shows = [] } = action;
  const operation = operationOf(document, method, path);
  if (!operation) return [`${action.name}: no ${method} ${path}`];
  const sent = [
    ...fields.flatMap(namesOf),
    ...Object.keys(fromRow),
    ...Object.keys(fixed),
    ...(hasNetwork ? ["network"] : []),
  ];
  const taken = Object.values(fromRow)
    .flatMap(pathsOf)
    .concat(fields.flatMap(({ from }) => from ?? []));
  const answer = answerOf(document, operation);
  return [
    ...sentUnknown(document, operation, method, sent),
    ...fields.flatMap((field) => ofKnown(document, field)),
    ...(action.prerequisite?.lists ?? []).flatMap((list) => ofFormList(document, list)),
    ...taken.filter((at) => follow(document, row, at).length === 0).map((at) => `row has no ${at}`),
    ...shows
      .filter(({ path: at }) => follow(document, answer, at).length === 0)
      .map(({ path: at }) => `answer has no ${at}`),
  ].map((problem) => `${action.name}: ${problem}`);
}

/** What a list that a form reads names that the API does not have. */
function ofFormList(document: ApiDocument, list: FormList): string[] {
  const operation = operationOf(document, "GET", list.path);
  if (!operation) return [`no GET ${list.path}`];
  const { query, fromRow, fromFields, hasNetwork, rowsMember } = list;
  const names = [query, fromRow, fromFields].flatMap((part) => Object.keys(part ?? {}));
  const rows = follow(document, answerOf(document, operation), rowsMember);
  return [
    ...sentUnknown(document, operation, "GET", [...names, ...(hasNetwork ? ["network"] : [])]),
    ...(rows.length === 0 ? [`answer of ${list.path} has no ${rowsMember}`] : []),
  ];
}

/** What a field's suggestions name that their list does not have. */
function ofKnown(document: ApiDocument, { name, knownIds: known, rowFields }: Field): string[] {
  if (rowFields) return rowFields.flatMap((field) => ofKnown(document, field));
  if (known === undefined) return [];
  const { method = "GET" } = known;
  const operation = operationOf(document, method, known.path);
  if (!operation) return [`${name}: no ${method} ${known.path}`];
  const row = follow(document, answerOf(document, operation), `${known.rowsMember}.0`);
  const asked = [
    ...Object.keys(known.query ?? {}),
    ...(known.isWhole ? [] : ["limit"]),
    ...(known.hasNetwork ? ["network"] : []),
  ];
  return [
    ...sentUnknown(document, operation, method, asked),
    ...[known.idPath, ...known.labelPaths]
      .filter((at) => follow(document, row, at).length === 0)
      .map((at) => `row of ${known.path} has no ${at}`),
  ];
}

function namesOf({ name, itemName, rowFields }: Field): string[] {
  if (rowFields) return rowFields.map((field) => `${name}.0.${field.name}`);
  return [itemName ? `${name}.0.${itemName}` : name];
}

function pathsOf(from: unknown): string[] {
  if (typeof from === "string") return [from];
  return Object.values(from as object).flatMap(pathsOf);
}

function operationOf(document: ApiDocument, method: string, path: string): Operation | undefined {
  const full = path.startsWith("/v1/") ? path : `/api/v1${path}`;
  return document.paths[full]?.[method.toLowerCase()];
}

function sentUnknown(document: ApiDocument, operation: Operation, method: string, names: string[]) {
  const parameters = (operation.parameters ?? []).map((one) => resolve<Parameter>(document, one));
  const query = parameters.filter((one) => one.in === "query").map(({ name }) => name);
  const body = operation.requestBody?.content["application/json"]?.schema;
  const isKnown = (name: string) =>
    method === "GET" ? query.includes(name) : follow(document, body ? [body] : [], name).length > 0;
  return names.filter((name) => !isKnown(name)).map((name) => `${method} does not take ${name}`);
}

function answerOf(document: ApiDocument, { responses }: Operation): Schema[] {
  const response = responses[200];
  const { content } = resolve<{ content?: Record<string, { schema: Schema }> }>(document, response);
  const schema = content?.["application/json"]?.schema;
  return schema ? follow(document, [schema], "data") : [];
}

/** The schemas of a member; of a union, those of each of its kinds. */
function follow(document: ApiDocument, schemas: Schema[], path: string): Schema[] {
  return path
    .split(".")
    .reduce(
      (found, name) =>
        found
          .flatMap((one) => kindsOf(document, one))
          .flatMap(({ properties, items }) =>
            /^\d+$/.test(name) ? (items ?? []) : (properties?.[name] ?? []),
          ),
      schemas,
    );
}

function kindsOf(document: ApiDocument, schema: Schema): Schema[] {
  const one = resolve<Schema>(document, schema);
  const kinds = one.anyOf ?? one.oneOf ?? one.allOf;
  return [one, ...(kinds ?? []).flatMap((kind) => kindsOf(document, kind))];
}

function resolve<T>(document: ApiDocument, one: unknown): T {
  const { $ref } = one as { $ref?: string };
  if ($ref === undefined) return one as T;
  const [, , kind = "", name = ""] = $ref.split("/");
  return document.components[kind]?.[name] as T;
}
