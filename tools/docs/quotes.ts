/** A code block of a document that quotes a file of `examples/`, or some of its lines. */
const QUOTE = /^(<!-- (examples\/\S+?)(?: (\d+)-(\d+))? -->\n```\w+\n)[\s\S]*?^```$/gm;

/**
 * The document with the text of the quoted files. A quote is a code block after `<!-- examples/NAME -->`, or
 * after `<!-- examples/NAME 3-7 -->` for the lines from 3 to 7.
 *
 * @param read - returns the text of a file, by its path in the repository
 */
export function withQuotes(text: string, read: (path: string) => string): string {
  return text.replace(QUOTE, (_, begin: string, path: string, from = "1", to?: string) => {
    const lines = read(path).trimEnd().split("\n");
    const quoted = lines.slice(Number(from) - 1, to === undefined ? undefined : Number(to));
    return `${begin}${quoted.join("\n")}\n\`\`\``;
  });
}
