/** What a link may lead to. The checks need no network: of an external link only the form is checked. */
import { posix } from "node:path";

/** A link that leads nowhere. */
export interface BrokenLink {
  file: string;
  line: number;
  target: string;
  problem: string;
}

/** Files that links lead to. */
export interface LinkTargets {
  /** @param path - relative to the repository, with `/` */
  exists(path: string): boolean;
  /** The text of a Markdown file. */
  read(path: string): string;
}

/** Addresses of the service, which docs/llms.txt names and no file is served at. */
const SERVED_PATHS = new Set(["/docs", "/api/v1/openapi.json"]);
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const LINE_ANCHOR = /^L\d+(-L\d+)?$/;

/** `](target)` of links, images and buttons, `[name]: target`, `<https://…>`, and attributes of HTML. */
const LINKS =
  /\]\(\s*(?<inline>[^)\s]*)[^)]*\)|^ {0,3}\[[^\]]+\]:\s*(?<defined>\S*)|<(?<plain>(?:https?|mailto):[^>]*)>|\b(?:href|src)="(?<attribute>[^"]*)"/gm;

/** Finds the links of a Markdown file that lead nowhere. Code is not read. */
export function findBrokenLinks(file: string, text: string, targets: LinkTargets): BrokenLink[] {
  const prose = withoutCode(text);
  return [...prose.matchAll(LINKS)].flatMap(({ index, groups = {} }) => {
    const { inline, defined, plain, attribute } = groups;
    const target = inline ?? defined ?? plain ?? attribute ?? "";
    const problem = problemOf(file, target, text, targets);
    if (problem === null) return [];
    return [{ file, line: prose.slice(0, index).split("\n").length, target, problem }];
  });
}

function problemOf(file: string, target: string, text: string, targets: LinkTargets) {
  if (target === "" || target === "#") return "leads nowhere";
  if (SCHEME.test(target)) return problemOfExternal(target);
  const [path = "", anchor] = target.split("#");
  const found = path === "" ? file : pathOf(file, decodeURIComponent(path));
  if (found === null) return null;
  if (!targets.exists(found)) return `there is no ${found}`;
  if (anchor === undefined) return null;
  if (!found.endsWith(".md"))
    return LINE_ANCHOR.test(anchor) ? null : `${found} has no heading ${anchor}`;
  const headings = anchorsOf(path === "" ? text : targets.read(found));
  return headings.has(anchor) ? null : `${found} has no heading ${anchor}`;
}

function problemOfExternal(target: string): string | null {
  if (/^mailto:[^@\s]+@[^@\s]+\.[^@\s]+$/.test(target)) return null;
  if (!/^https?:\/\//.test(target) || !URL.canParse(target)) return "is no web address";
  const { hostname } = new URL(target);
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname) ? null : `${hostname} is no public host`;
}

/** The file that a path leads to; null for an address of the service. */
function pathOf(file: string, path: string): string | null {
  if (SERVED_PATHS.has(path)) return null;
  return path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(file), path);
}

/** The anchors of headings, as GitHub makes them, and those that HTML sets. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const prose = withoutBlocks(text);
  for (const [, heading = ""] of prose.matchAll(/^ {0,3}#{1,6}\s+(.+?)\s*#*$/gm)) {
    const plain = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${slug}-${copy}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of prose.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

const blank = (code: string) => code.replace(/[^\n]/g, " ");

function withoutBlocks(text: string): string {
  return text.replace(/^ *(```+|~~~+)[\s\S]*?^ *\1.*$/gm, blank).replace(/<!--[\s\S]*?-->/g, blank);
}

function withoutCode(text: string): string {
  return withoutBlocks(text).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, blank);
}
