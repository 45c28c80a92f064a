/** A guide of docs/, as docs/llms.txt lists it. */
export interface Guide {
  /** Its file name without the extension. */
  name: string;
  title: string;
  description: string;
}

/** Guides for one task of the reader. */
export interface GuideGroup {
  title: string;
  guides: Guide[];
}

/** Reads the groups of docs/llms.txt (llmstxt.org): a heading, and a list of links below it. */
export function readGuideGroups(index: string): GuideGroup[] {
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => ({
    title: section.slice(0, section.indexOf("\n")),
    guides: [...section.matchAll(/^- \[(.+?)\]\(\/docs\/(.+?)\.md\): (.+)$/gm)].map(
      ([, title = "", name = "", description = ""]) => ({ name, title, description }),
    ),
  }));
}
