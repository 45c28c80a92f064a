/**
 * Which hosts and addresses are on the public internet, according to the IANA special-purpose
 * address registries (RFC 6890 and its updates).
 */
import ipaddr from "ipaddr.js";

/** Names that never leave a network, or always mean the machine itself. */
const PRIVATE_HOSTNAME_SUFFIXES = [
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
export function isPublicHostname(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  // Two or more labels, none empty: `localhost..` is not a name, however a resolver treats it.
  if (!/^[^.:]+(\.[^.:]+)+$/.test(name)) return false;
  // The URL parser has normalized every decimal, octal and hex form to four decimal parts.
  if (/^\d+(\.\d+){3}$/.test(name)) return false;
  return !PRIVATE_HOSTNAME_SUFFIXES.some(
    (suffix) => name === suffix || name.endsWith(`.${suffix}`),
  );
}

/** The only block from which public addresses are allocated (RFC 4291 §2.4). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** Documentation addresses are within it (RFC 9637); the rest is unallocated. */
const RESERVED_UNICAST = ipaddr.IPv6.parseCIDR("3fff::/16");

/**
 * Whether an IP address is on the public internet. Of IPv6 only global unicast is, less the ranges
 * for documentation and those that carry an IPv4 address inside.
 *
 * @param address - dotted IPv4, or IPv6 without brackets
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseIpAddress(address);
  if (parsed?.range() !== "unicast") return false;
  return (
    parsed instanceof ipaddr.IPv4 ||
    (parsed.match(GLOBAL_UNICAST) && !parsed.match(RESERVED_UNICAST))
  );
}

/**
 * What one subscriber's addresses have in common: all of an IPv4 address, the first 64 bits of an
 * IPv6 address (RFC 4291 §2.5.1). For comparison only.
 *
 * @param address - as in `isPublicAddress`
 */
export function subscriberPrefixOf(address: string): string {
  const parsed = parseIpAddress(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(":") : address;
}

/** Null for whatever is not plainly an address: a part in octal or hex, fewer parts, a zone. */
function parseIpAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address);
  const isPlain = ipaddr.IPv6.isValid(address) && !address.includes("%");
  return isPlain ? ipaddr.IPv6.parse(address) : null;
}
