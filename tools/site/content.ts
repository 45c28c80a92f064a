/** The pages of the site: Markdown of this repository, with the links and the front matter of a site. */
import { type GuideGroup, readGuideGroups } from "../docs/guides.ts";

/** A file of the site's content. */
export interface SitePage {
  /** Path below the content, with its extension. */
  path: string;
  text: string;
}

/** What the pages are made from. */
export interface Sources {
  /** docs/llms.txt. */
  index: string;
  changelog: string;
  /** Guides as they are served, by file name. */
  guides: Readonly<Record<string, string>>;
}

const DESCRIPTION =
  "Escrow payments, an agent registry and x402 settlement for AI agents, as an HTTP API with JSON.";

/** Makes the pages of the site. */
export function createPages({ index, changelog, guides }: Sources): SitePage[] {
  const groups = readGuideGroups(index);
  const described = new Map(groups.flatMap((group) => group.guides).map((one) => [one.name, one]));
  const pages = Object.entries(guides).map(([path, text]) => {
    const description = described.get(path.replace(/\.md$/, ""))?.description ?? "";
    return { path, text: toPage(text, description, "") };
  });
  return [
    { path: "index.md", text: createFrontPage(groups) },
    { path: "changelog.md", text: toPage(changelog, "What changed in each version", "docs/") },
    ...pages,
  ];
}

/** The groups of the site's sidebar, in the format of Starlight. */
export function createSidebar(index: string) {
  const groups = readGuideGroups(index).map(({ title, guides }) => ({
    label: title,
    items: guides.map((guide) => ({ slug: guide.name, label: guide.title })),
  }));
  const reference = groups.find(({ label }) => label === "Reference");
  reference?.items.push({ slug: "changelog", label: "Changelog" });
  return groups;
}

/** The title becomes front matter, and links lead to pages. */
function toPage(text: string, description: string, folder: string): string {
  const [, title = "", body = ""] = /^# (.+)\n([\s\S]*)$/.exec(text) ?? [];
  return `${frontMatter(title, description)}${linkPages(body, folder)}`;
}

function frontMatter(title: string, description: string): string {
  return `---\ntitle: ${JSON.stringify(title)}\ndescription: ${JSON.stringify(description)}\n---\n`;
}

/**
 * Turns links between Markdown files into links between pages. What a site does not have, as the source,
 * keeps its text.
 *
 * @param folder - where the linked guides are, relative to the file: `docs/` for the changelog
 */
function linkPages(text: string, folder: string): string {
  return text.replace(
    /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
    (link, image, label, to) => {
      if (image || /^(https?:|mailto:|#)/.test(to)) return link;
      const [path = "", anchor] = to.split("#");
      const fragment = anchor === undefined ? "" : `#${anchor}`;
      if (path.endsWith("CHANGELOG.md")) return `[${label}](/docs/changelog${fragment})`;
      const [, name] =
        /^([a-z0-9-]+)\.md$/.exec(path.startsWith(folder) ? path.slice(folder.length) : "") ?? [];
      return name === undefined ? label : `[${label}](/docs/${name}${fragment})`;
    },
  );
}

function createFrontPage(groups: readonly GuideGroup[]): string {
  const sections = groups.map(({ title, guides }) => {
    const items = guides.map((one) => `- [${one.title}](/docs/${one.name}): ${one.description}`);
    return `## ${title}\n\n${items.join("\n")}\n`;
  });
  return `${frontMatter("Documentation", DESCRIPTION)}
The [API](/docs/api) has a page for each operation, with samples for curl, TypeScript and Python. Programs read the
[OpenAPI document](/api/v1/openapi.json), and models read [llms.txt](/llms.txt).

${sections.join("\n")}`;
}
