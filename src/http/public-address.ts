/**
 * Which hosts and addresses are on the public internet, after the IANA special-purpose address
 * registries (RFC 6890 and its updates).
 */

/** Names that never leave a network, or always mean the machine itself. */
const PRIVATE_SUFFIXES = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home.arpa",
  "in-addr.arpa",
  "ip6.arpa",
  "onion",
  "test",
  "example",
  "invalid",
];

/** Whether a host, as `URL.hostname` gives it, is a public name and not an address. */
export function isPublicName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  // Two labels or more, none of them empty: `localhost..` is no name, whatever a resolver makes of it.
  if (!/^[^.:]+(\.[^.:]+)+$/.test(name)) return false;
  // The URL parser has turned every decimal, octal and hex form into four decimal parts.
  if (/^\d+(\.\d+){3}$/.test(name)) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

const PRIVATE_IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, cloud metadata
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16],
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4],
];

/**
 * Whether an IP address is on the public internet. Of IPv6 only global unicast is, less the ranges
 * for documentation and those that carry an IPv4 address inside.
 *
 * @param address - dotted IPv4, or IPv6 without brackets
 */
export function isPublicAddress(address: string): boolean {
  const v4 = parseIpv4(address);
  if (v4 !== null)
    return !PRIVATE_IPV4.some(([base, bits]) => v4 >>> (32 - bits) === ipv4(base) >>> (32 - bits));
  const groups = parseIpv6(address);
  if (groups === null) return false;
  const [first = 0, second = 0] = groups;
  const isGlobalUnicast = first >>> 13 === 0b001;
  const isIetfAssignment = first === 0x2001 && second < 0x200; // Teredo, ORCHID, benchmarks
  const isDocumentation = (first === 0x2001 && second === 0xdb8) || first === 0x3fff;
  const is6to4 = first === 0x2002;
  return isGlobalUnicast && !isIetfAssignment && !isDocumentation && !is6to4;
}

/**
 * What the addresses of one subscriber have in common: all of an IPv4 address, the first 64 bits of an
 * IPv6 address (RFC 4291 §2.5.1). Only to be compared.
 *
 * @param address - as in `isPublicAddress`
 */
export function subscriberOf(address: string): string {
  return parseIpv6(address)?.slice(0, 4).join(":") ?? address;
}

function ipv4(dotted: string): number {
  return parseIpv4(dotted) ?? 0;
}

function parseIpv4(text: string): number | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256))
    return null;
  return parts.reduce((value, part) => value * 256 + Number(part), 0);
}

/** Eight groups of 16 bits; leaves it to the URL parser to read the many forms of an address. */
function parseIpv6(text: string): number[] | null {
  if (!URL.canParse(`http://[${text}]/`)) return null;
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const read = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = read(head);
  const after = tail === undefined ? [] : read(tail);
  const missing = 8 - before.length - after.length;
  return [...before, ...Array<number>(missing).fill(0), ...after];
}
