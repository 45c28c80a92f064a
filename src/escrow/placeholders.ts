/**
 * Fills in what stands between two marks, every time. On every record of every page, so it does
 * without a regular expression, which takes twice as long.
 *
 * @param mark - a control character, which JSON escapes, so that the text has it nowhere else
 */
export function filledIn(text: string, mark: string, fill: (between: string) => string): string {
  let from = 0;
  let filled = "";
  for (let begin = text.indexOf(mark); begin !== -1; begin = text.indexOf(mark, from)) {
    const end = text.indexOf(mark, begin + 1);
    filled += text.slice(from, begin) + fill(text.slice(begin + 1, end));
    from = end + 1;
  }
  return filled + text.slice(from);
}
