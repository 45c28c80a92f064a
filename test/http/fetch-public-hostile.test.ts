import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fetchPublic } from "../../src/http/fetch-public.ts";

const OPTIONS = { timeoutMs: 1_000, maxBytes: 1_000, allowHttp: true };

/** Addresses in every form that a URL can hide them in. None of them may be connected to. */
const HOSTILE_URLS = [
  // IPv4, plain
  "http://127.0.0.1/",
  "http://127.255.255.254/",
  "http://0.0.0.0/",
  "http://10.0.0.1/",
  "http://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://172.16.0.1/",
  "http://192.168.0.1/",
  "http://192.0.0.1/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://8.8.8.8/",
  // IPv4 in disguise: short, decimal, octal, hexadecimal, mixed, full-width, percent-encoded
  "http://127.1/",
  "http://127.0.1/",
  "http://0/",
  "http://2130706433/",
  "http://017700000001/",
  "http://0177.0.0.1/",
  "http://0x7f.0.0.1/",
  "http://0x7f000001/",
  "http://0xa9fea9fe/",
  "http://169.0376.0xa9.254/",
  "http://１２７.０.０.１/",
  "http://①②⑦.0.0.1/",
  "http://%31%32%37.0.0.1/",
  "http://127。0。0。1/",
  // Trailing dots
  "http://127.0.0.1./",
  "http://localhost./",
  "http://metadata.google.internal./",
  // IPv6: loopback, unspecified, local, mapped, compatible, NAT64, 6to4, Teredo, documentation
  "http://[::1]/",
  "http://[::]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[fe80::1]/",
  "http://[fc00::1]/",
  "http://[fd00:ec2::254]/",
  "http://[fec0::1]/",
  "http://[ff02::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[64:ff9b:1::a00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:0:7f00:1::]/",
  "http://[2001:db8::1]/",
  "http://[2606:4700:4700::1111]/",
  // Names that stay inside
  "http://localhost/",
  "http://LOCALHOST/",
  "http://a.localhost/",
  "http://metadata.google.internal/",
  "http://printer.local/",
  "http://router.home.arpa/",
  "http://intranet/",
  "http://host.lan/",
  // User, password, port, scheme
  "http://agent.example.com@127.0.0.1/",
  "https://user@agent.example.com/",
  "https://user:secret@agent.example.com/",
  "https://agent.example.com:22/",
  "http://agent.example.com:8080/",
  "ftp://agent.example.com/",
  "file:///etc/passwd",
  "data:application/json,{}",
  "javascript:alert(1)",
  "//agent.example.com/",
  "http:///",
  "",
];

/** What a public name may not resolve to. */
const HOSTILE_RECORDS = [
  "127.0.0.1",
  "0.0.0.0",
  "10.1.2.3",
  "100.100.100.200",
  "169.254.169.254",
  "192.168.1.1",
  "8.8.8.8,10.0.0.1",
  "::1",
  "::",
  "fe80::1",
  "fd00::1",
  "::ffff:10.0.0.1",
  "64:ff9b::a00:1",
  "2002:a00:1::",
  "2606:4700::1111,::1",
  "not-an-address",
];

afterEach(() => vi.unstubAllGlobals());

/** Every request that leaves, by URL. */
function watched(): string[] {
  const sent: string[] = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => {
    sent.push(String(args[0]));
    return fetch(...args);
  });
  return sent;
}

const resolverFor = (addresses: string) =>
  `${env.AGENTS_URL}/_dns/${encodeURIComponent(addresses)}`;

/** Makes a listed loopback agent behave in some way, and gives its URL. */
async function agent(behaviour: string, argument?: string): Promise<string> {
  const name = `hostile-${behaviour}`;
  await fetch(`${env.AGENTS_URL}/_control`, {
    method: "POST",
    body: JSON.stringify({ agent: name, behaviour, argument }),
  });
  return `${env.AGENTS_URL}/${name}/availability`;
}

const loopbackOrigins = [env.AGENTS_URL];

describe("a hostile URL", () => {
  it("table has at least sixty rows", () => {
    expect(HOSTILE_URLS.length + HOSTILE_RECORDS.length).toBeGreaterThanOrEqual(60);
  });

  it.each(HOSTILE_URLS)("%s is refused, and nothing is sent", async (url) => {
    const sent = watched();
    const resolverUrl = resolverFor("8.8.8.8");
    await expect(fetchPublic(url, { ...OPTIONS, resolverUrl })).rejects.toMatchObject({
      name: "PublicFetchError",
      reason: "refused",
    });
    expect(sent).toEqual([]);
  });

  it.each(HOSTILE_RECORDS)(
    "whose name resolves to %s is refused, and only the resolver is asked",
    async (records) => {
      const sent = watched();
      const resolverUrl = resolverFor(records);
      const refused = fetchPublic("https://agent.example.com/", { ...OPTIONS, resolverUrl });
      await expect(refused).rejects.toMatchObject({ reason: "refused" });
      expect(sent).toHaveLength(2);
      expect(sent.every((url) => url.startsWith(`${env.AGENTS_URL}/_dns/`))).toBe(true);
    },
  );

  it.each([
    ["knows no such name", "none"],
    ["has no address for it", ""],
  ])("whose resolver %s is unreachable, and nothing else is sent", async (_, records) => {
    const sent = watched();
    const resolverUrl = `${env.AGENTS_URL}/_dns/${records}`;
    const lost = fetchPublic("https://agent.example.com/", { ...OPTIONS, resolverUrl });
    await expect(lost).rejects.toMatchObject({ name: "PublicFetchError" });
    expect(sent).toHaveLength(2);
  });

  it("whose resolver fails is unreachable: an address that is not known is not asked", async () => {
    const resolverUrl = `${env.AGENTS_URL}/nothing/here`;
    const lost = fetchPublic("https://agent.example.com/", { ...OPTIONS, resolverUrl });
    await expect(lost).rejects.toMatchObject({ reason: "unreachable" });
  });
});

describe("an address that may be asked, and answers with", () => {
  it.each([
    "http://127.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "file:///etc/passwd",
  ])("a redirect to %s is not followed", async (location) => {
    const url = await agent("redirect", location);
    const sent = watched();
    const answer = await fetchPublic(url, { ...OPTIONS, loopbackOrigins });
    expect(answer.status).toBe(302);
    expect(sent).toEqual([url]);
  });

  it("a body without an end is cut at the size allowed", async () => {
    const url = await agent("huge");
    const refused = fetchPublic(url, { ...OPTIONS, loopbackOrigins });
    await expect(refused).rejects.toMatchObject({ reason: "too-large" });
    const cut = await fetchPublic(url, { ...OPTIONS, loopbackOrigins, whenLarger: "cut" });
    expect(cut.body.byteLength).toBe(OPTIONS.maxBytes);
  });

  it.each(["slow", "silent"])("a %s body ends when time is up", async (behaviour) => {
    const url = await agent(behaviour);
    const begun = Date.now();
    const late = fetchPublic(url, { ...OPTIONS, timeoutMs: 300, loopbackOrigins });
    await expect(late).rejects.toMatchObject({ reason: "timeout" });
    expect(Date.now() - begun).toBeLessThan(2_000);
  });
});
