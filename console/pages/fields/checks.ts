/** What forms check while people type, in words of the form. The API checks everything again. */

export function checkUrl(text: string): string | null {
  return URL.canParse(text) ? null : "must be an address such as https://example.com";
}

export function checkAddress(text: string): string | null {
  return /^addr(_test)?1[02-9ac-hj-np-z]{20,}$/.test(text)
    ? null
    : "must be an address that begins with addr1 or addr_test1";
}

export function checkPercent(text: string): string | null {
  return Number(text) >= 0 && Number(text) <= 100 ? null : "must be between 0 and 100";
}

const WORD_COUNTS = [12, 15, 18, 21, 24];

export function checkMnemonic(text: string): string | null {
  const count = text.split(/\s+/).length;
  return WORD_COUNTS.includes(count) ? null : `has ${count} words, not 12, 15, 18, 21 or 24`;
}
