import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { createRequester } from "../../../src/chain/provider/request.ts";
import { fetchPublic } from "../../../src/http/outbound/fetch-public.ts";
import { HOSTILE_RECORDS, HOSTILE_URLS } from "../../support/hostile-addresses.ts";
import { freshName, setName } from "../../support/names.ts";

const resolverUrl = env.DNS_OVER_HTTPS_URL;
const OPTIONS = { timeoutMs: 1_000, maxBytes: 1_000, allowHttp: true, resolverUrl };

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

/** A name that the resolver answers for as told; see `setName`. */
async function nameWith(answer: Parameters<typeof setName>[1]): Promise<string> {
  const name = freshName();
  await setName(name, answer);
  return name;
}

/** Makes a listed loopback agent behave in some way, and gives its URL. */
async function agent(behaviour: string, argument?: string): Promise<string> {
  const name = `hostile-${behaviour}`;
  await fetch(`${env.AGENTS_URL}/_control`, {
    method: "POST",
    body: JSON.stringify({ agent: name, behaviour, argument }),
  });
  return `${env.AGENTS_URL}/${name}/availability`;
}

/** Waits until the agent's last answer is over: was it given in full, or did we go away before? */
async function lastAnswerOf(behaviour: string): Promise<unknown> {
  return (await fetch(`${env.AGENTS_URL}/_control/hostile-${behaviour}`)).json();
}

const loopbackOrigins = [env.AGENTS_URL];

describe("a hostile URL", () => {
  it("table has at least sixty rows", () => {
    expect(HOSTILE_URLS.length + HOSTILE_RECORDS.length).toBeGreaterThanOrEqual(60);
  });

  it.each(HOSTILE_URLS)("%s is refused, and nothing is sent", async (url) => {
    const sent = watched();
    await expect(fetchPublic(url, OPTIONS)).rejects.toMatchObject({
      name: "PublicFetchError",
      reason: "refused",
    });
    expect(sent).toEqual([]);
  });

  it.each([
    ...HOSTILE_RECORDS.map((records) => [records, records]),
    ["seventy public addresses and a private one", [...Array(70).fill("8.8.8.8"), "::1"].join()],
  ])(
    "whose name resolves to %s is refused, and only the resolver is asked",
    async (_, records = "") => {
      const name = await nameWith(records.split(","));
      const sent = watched();
      const refused = fetchPublic(`https://${name}/`, OPTIONS);
      await expect(refused).rejects.toMatchObject({ reason: "refused" });
      expect(sent).toEqual(["A", "AAAA"].map((type) => `${resolverUrl}?name=${name}&type=${type}`));
    },
  );

  it.each([
    ["does not exist", null],
    ["has no address", []],
    ["is an alias of nothing", ["alias.example.com."]],
  ])("whose name %s is unreachable, and nothing else is sent", async (_, answer) => {
    const name = await nameWith(answer);
    const sent = watched();
    const lost = fetchPublic(`https://${name}/`, OPTIONS);
    await expect(lost).rejects.toMatchObject({ name: "PublicFetchError", reason: "unreachable" });
    expect(sent).toHaveLength(2);
  });

  it.each(["servfail", "unavailable", "nonsense", "reset", "hang", "bomb"])(
    "whose resolver fails (%s) is not asked: nobody knows what is behind it",
    async (failure) => {
      const name = await nameWith(failure);
      const sent = watched();
      const lost = fetchPublic(`https://${name}/`, { ...OPTIONS, timeoutMs: 300 });
      await expect(lost).rejects.toMatchObject({
        reason: "unresolved",
        message: "the name resolver did not answer",
      });
      expect(sent).toHaveLength(2);
    },
  );
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

  it("a small body that expands to a large one is refused at the size allowed", async () => {
    const url = await agent("bomb");
    const refused = fetchPublic(url, { ...OPTIONS, loopbackOrigins, maxBytes: 1024 * 1024 });
    await expect(refused).rejects.toMatchObject({ reason: "too-large" });
    const answer = await fetchPublic(url, { ...OPTIONS, loopbackOrigins, maxBytes: 9 * 1024 ** 2 });
    expect(answer.body.byteLength).toBe(8 * 1024 ** 2);
  });

  it("a small body that expands to a large one is no answer of the chain's provider either", async () => {
    const url = await agent("bomb");
    const read = createRequester({ baseUrl: url.replace("/availability", ""), projectId: "key" });
    await expect(read("/availability", z.unknown())).rejects.toThrow("answer is too large");
  });

  it("a body without an end is refused at the size allowed, and not read where none is wanted", async () => {
    const url = await agent("huge");
    const refused = fetchPublic(url, { ...OPTIONS, loopbackOrigins });
    await expect(refused).rejects.toMatchObject({ reason: "too-large" });
    const unread = await fetchPublic(url, { ...OPTIONS, loopbackOrigins, maxBytes: 0 });
    expect(unread.body.byteLength).toBe(0);
  });

  it.each(["slow", "silent"])(
    "a %s body ends when time is up, and so does its connection",
    async (behaviour) => {
      const url = await agent(behaviour);
      const late = fetchPublic(url, { ...OPTIONS, timeoutMs: 300, loopbackOrigins });
      await expect(late).rejects.toMatchObject({
        reason: "timeout",
        message: "no answer within 300 ms",
      });
      expect(await lastAnswerOf(behaviour)).toEqual({ finished: false });
    },
  );
});
