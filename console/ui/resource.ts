/** What a page about a list of the API is made of: data, so that one component shows them all. */
import type { HttpMethod } from "../api/request.ts";
import type { Access } from "../api/session.ts";

/** Something that a person chooses: its name, and what it is beside that. */
export interface Option {
  id: string;
  label: string;
  detail: string;
}

/**
 * Kinds of values. `tag` and `word` are one of a list of names. `code` is an identifier that people copy, `hash`
 * one of a transaction, and `address` one of the ledger. An explorer shows the last two. `secret` is an identifier
 * that its owner has to store. `members` are names of members, and `records` flat objects. `minor` is an amount of
 * an unknown unit.
 */
export type ValueKind =
  | "text"
  | "tag"
  | "word"
  | "words"
  | "members"
  | "code"
  | "hash"
  | "address"
  | "secret"
  | "time"
  | "funds"
  | "native"
  | "minor"
  | "flag"
  | "list"
  | "count"
  | "records"
  | "json"
  | "link"
  | "pdf";

/** A member of each row. */
export interface Column {
  heading: string;
  /** What is shown, where it is made of several members. Of a `tag`, it is the tag's name. */
  describe?: (row: unknown) => string;
  /** Its path in the row. */
  path: string;
  as?: ValueKind;
  /** It is the number of rows that another list has for the row. */
  counts?: CountedRows;
  /** What stands where there is no value. */
  fallback?: string;
  /** What stands where there is no value, if that depends on the row. */
  otherwise?: (row: unknown) => string;
  /** Path of what is shown below the first cell, smaller. */
  second?: string;
  /** The list that has a name for the identifier. */
  knownIds?: KnownIds;
  /** The page that the value leads to. */
  leadsTo?: string;
  /** What the value is the identifier of, where that depends on the row. */
  refersTo?: (row: unknown) => Reference;
  /** It is an amount that `describe` makes, so it stands at the right. */
  isAmount?: boolean;
  /** Path of the CAIP-2 id of the chain that a hash or an address is of, where it is an EVM chain. */
  chainFrom?: string;
}

/** Rows of a list of the API: those of each selection, which exclude each other. */
export interface CountedRows {
  path: string;
  rowsMember: string;
  /** Parameters that the row has, with their paths in it. */
  fromRow: Readonly<Record<string, string>>;
  selections: readonly Readonly<Record<string, string>>[];
}

/** Something of the service that a row names by an identifier. */
export interface Reference {
  /** What it is, such as a wallet; empty where its heading says so. */
  what: string;
  id: string;
  /** What it is called, where no list says so. */
  label?: string;
  /** The list that has a name for it. */
  knownIds?: KnownIds | undefined;
  /** The page that shows it; none when left out. */
  page?: string | undefined;
  /** The identifier that the page is about. */
  pageId?: string;
  query: Readonly<Record<string, string | undefined>>;
}

/** A list of the API whose rows have an identifier that is asked for. */
export interface KnownIds {
  method?: "GET" | "POST";
  path: string;
  query?: Readonly<Record<string, string>>;
  /** What is sent with a POST. */
  body?: Readonly<Record<string, unknown>>;
  /** How many rows are requested, where the API gives fewer than of other lists. */
  limit?: number;
  /** The network that is shown is sent as `network`. */
  hasNetwork?: boolean;
  /** The API answers with all rows at once. */
  isWhole?: boolean;
  /** The member of the answer that holds the rows. */
  rowsMember: string;
  /** Path of the identifier in a row. */
  idPath: string;
  /** Paths of what people know a row by. */
  labelPaths: readonly string[];
  /** What people know a row by, where it is made of several members. */
  describe?: (row: unknown) => string;
  /** What stands beside the name, before the other paths, such as a balance; empty: nothing. */
  describeDetail?: (row: unknown) => string;
  /** Whether a row can be chosen; every row when left out. */
  isOffered?: (row: unknown) => boolean;
  access: Access;
}

/** The token of an amount that is typed in. */
export interface AmountToken {
  name: string;
  /** Null: they are not known, and minor units are typed in. */
  decimals: number | null;
}

/** Something that a person fills in. */
export interface Field {
  /** Its path in the body or in the query. */
  name: string;
  label: string;
  /** What it is called in a form, where that depends on the other fields. */
  labelBy?: (values: Readonly<Record<string, string>>) => string;
  /**
   * `lines` is a list of texts, one a line. `choices` are some of a list. `amount` is typed in whole
   * units of `unit` and sent in minor units. `rows` are objects, each with the fields of `rowFields`.
   */
  as?:
    | "text"
    | "long"
    | "secret"
    | "number"
    | "choice"
    | "choices"
    | "flag"
    | "amount"
    | "lines"
    | "rows"
    | "month"
    | "time";
  choices?: readonly string[];
  /** What it is called to choose none of them. */
  noChoice?: string;
  /** What a choice is called. */
  nameChoice?: (choice: string) => string;
  /** Fields of each row. */
  rowFields?: readonly Field[];
  /** What one row is called. */
  rowName?: string;
  /** The order of the rows matters, so people change it. */
  isOrdered?: boolean;
  /** The heading that fields stand under together. */
  group?: string;
  /** Whether it is shown, by what the other fields hold; a hidden field is not sent. */
  isShown?: (values: Readonly<Record<string, string>>) => boolean;
  /** What is wrong with a text, in words of the form; null: nothing. */
  check?: (text: string) => string | null;
  /** It is sent as null, not as an empty list, when the row has a value and the field has none. */
  isNullWhenEmpty?: boolean;
  /** What is offered for a text; where it is required and there is one alone, it is filled in. */
  knownIds?: KnownIds;
  /** The same, where the list depends on the other fields, or on the row. */
  knownIdsBy?: (values: Readonly<Record<string, string>>, row: unknown) => KnownIds;
  hint?: string;
  isRequired?: boolean;
  /** It is a filter of a list, which may always be empty. */
  isFilter?: boolean;
  /** The filter is that of the other tabs too, and takes the value that a form was sent with. */
  isShared?: boolean;
  /** Another filter that will do instead. */
  unlessGiven?: string;
  /** It is sent even if it is empty, which is a value. */
  isEmptySent?: boolean;
  /** What it holds at first: a path in the row. */
  from?: string;
  /** What it holds at first where there is no row. */
  initial?: string;
  /** The same where it depends on the row, or on the parameters of the URL. */
  initialBy?: (row: unknown, query: Readonly<Record<string, string>>) => string;
  /** Path of another field that holds the unit of an amount; the native coin when left out. */
  unitFrom?: string;
  /** The unit of an amount, where it is known beforehand. */
  unit?: string;
  /** The token of an amount, where it is none of the ledger. */
  token?: (values: Readonly<Record<string, string>>, row: unknown) => AmountToken;
  /** What is offered for a text, where the console itself knows it. */
  listOptions?: () => readonly Option[];
  /** A list is sent as objects that have each item under this name. */
  itemName?: string;
}

/** What is taken from a row: a path in it, or a body whose texts are paths. */
export type FromRow = string | readonly FromRow[] | { readonly [name: string]: FromRow };

/** A list of the API that a form reads. */
export interface FormList {
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Parameters that the row has, with their paths in it. */
  fromRow?: Readonly<Record<string, string>>;
  /** Parameters that the fields hold, with the names of the fields. */
  fromFields?: Readonly<Record<string, string>>;
  /** The network that is shown is sent as `network`. */
  hasNetwork?: boolean;
  rowsMember: string;
}

/** What the form says before its fields, by lists of the API. */
export interface Prerequisite {
  lists: readonly FormList[];
  /**
   * Why the action has no effect, or what it depends on. Null: nothing is to say.
   *
   * @param rows - those of each list
   */
  describe: (
    rows: readonly (readonly unknown[])[],
    row: unknown,
    values: Readonly<Record<string, string>>,
  ) => string | null;
  /** The link of the action's remedy stands below the text. */
  hasRemedy?: boolean;
}

/** Where what a refusal names is made or changed: a form of another tab, or its list. */
export interface Remedy extends ElsewhereLink {
  /** The field that the refusal names. */
  field: string;
  /** What the refusal says, where the field has others too. */
  says?: string;
  /** Parameters of the other tab, and the fields of this form that they begin with. */
  passes?: Readonly<Record<string, string>>;
  /** Parameters of the other tab that the row has, with their paths in it. */
  fromRow?: Readonly<Record<string, string>>;
}

/** A flag of the API that a refusal names. */
export interface Override {
  name: string;
  label: string;
}

/** Something that can be done, with a row or without one. */
export interface Action {
  /** Its name in the URL. */
  name: string;
  label: string;
  /** What it does, in a sentence or two, before it is done. */
  description: string;
  /** A GET sends its body as the query. */
  method: HttpMethod;
  path: string;
  fields?: readonly Field[];
  /** What is sent of the row beside the fields. */
  fromRow?: Readonly<Record<string, FromRow>>;
  /** What is always sent. */
  fixed?: Readonly<Record<string, unknown>>;
  /** The network that is shown is sent as `network`. */
  hasNetwork?: boolean;
  /** It may be on a network that has nothing yet, so people choose the network even where there is one alone. */
  addsNetwork?: boolean;
  /** What the answer means, where the effect comes later; the effect is done when left out. */
  outcome?: "queued" | "requested";
  /** Whether it is offered for a row. */
  isApplicable?: (row: unknown) => boolean;
  /** It removes or ends something, which cannot be taken back: it is red, and confirmed. */
  isFinal?: boolean;
  /** What an operator confirms before it is done, where it removes nothing. */
  confirmation?: string;
  /** The form offers it after the refusal. */
  override?: Override;
  needs?: Access;
  /** Members of the row that people need for the form. */
  reads?: readonly Column[];
  /** Members of the answer that are shown. */
  shows?: readonly Column[];
  /** Makes the body of what the fields hold, where it is no copy of them. */
  toBody?: (filled: Record<string, unknown>) => object;
  /** What says whether the action can have an effect, and by what. */
  prerequisite?: Prerequisite;
  remedy?: Remedy;
  /** What can fill in fields, such as a wallet in the browser. */
  helpers?: (row: unknown) => readonly FormHelper[];
}

/** Fills in fields of a form. */
export interface FormHelper {
  label: string;
  /** What the fields are to hold, by their names. */
  fill: () => Promise<Readonly<Record<string, string>>>;
}

/** Another list that belongs to a row. */
export interface RelatedList {
  label: string;
  page: string;
  /** Another page for rows that have a value. */
  pageWhen?: { at: string; is: string; page: string };
  tab?: string;
  /** Where the row has the id of what the page is about. */
  id?: string;
  /** Parameters of the other list, and where the row has them. */
  query: Readonly<Record<string, string>>;
}

/** A link to another tab, and to the form that is opened there. */
export interface ElsewhereLink {
  label: string;
  tab: string;
  action?: string;
  needs: Access;
}

/** A list of the API, and what can be done with its rows. */
export interface Resource {
  /** Its name in the URL. */
  name: string;
  title: string;
  description: string;
  needs?: Access;
  method?: "GET" | "POST";
  path: string;
  /** The member of the answer that holds the rows. */
  rowsMember: string;
  /** The member that holds them with this service's names, where an answer has those of another service too. */
  ownRowsMember?: string;
  /** What identifies a row, the cursor's member first; `id` when left out. */
  key?: string | readonly string[];
  /** Parameters that say, beside `cursorId`, where the next page begins: each with its path in a row. */
  cursor?: Readonly<Record<string, string>>;
  /** The network that is shown is sent as `network`. */
  hasNetwork?: boolean;
  /** How many rows are asked for at once, where the API gives fewer than of other lists. */
  pageRows?: number;
  /** The API answers with all rows at once. */
  isWhole?: boolean;
  /** What is always asked for. */
  fixed?: Readonly<Record<string, string>>;
  /** Which rows of a page are listed, where the API has one thing in several rows. */
  selectRows?: <Row>(rows: readonly Row[]) => readonly Row[];
  filters?: readonly Field[];
  columns: readonly Column[];
  /** What an opened row shows beside its columns. */
  details?: readonly Column[];
  /**
   * An object of the row whose members an opened row shows, however they are called. `knownIds` has the lists that
   * name what its members identify, by the members' names.
   */
  section?: { title: string; path: string; knownIds: Readonly<Record<string, KnownIds>> };
  creates?: readonly Action[];
  actions?: readonly Action[];
  /** Those whose fields depend on the row. */
  listRowActions?: (row: unknown) => readonly Action[];
  related?: readonly RelatedList[];
  /** What people look for here, and find in another tab of the page. */
  elsewhere?: readonly ElsewhereLink[];
  /** What an operator does where there is nothing yet. */
  emptyText: string;
}

/** A page of the navigation: one list, or several as tabs. */
export interface PageDefinition {
  name: string;
  title: string;
  access: Access;
  tabs: readonly Resource[];
}
