import { afterEach, describe, expect, it, vi } from "vitest";
import {
  checkPublicUrl,
  fetchPublic,
  PublicFetchError,
} from "../../../src/http/outbound/fetch-public.ts";
import { isPublicAddress } from "../../../src/http/outbound/public-address.ts";

const OPTIONS = { timeoutMs: 1000, maxBytes: 100, resolve: async () => ["8.8.8.8"] };

describe("checkPublicUrl", () => {
  it.each([
    "https://agent.example.com",
    "https://agent.example.com:443/path?query",
    "https://xn--bcher-kva.example.org/",
    "https://bücher.example.org/",
    "https://agent.example.com./",
  ])("lets %s through", (url) => {
    expect(checkPublicUrl(url).protocol).toBe("https:");
  });

  it.each([
    ["no URL", "agent.example.com"],
    ["plain http", "http://agent.example.com"],
    ["another scheme", "ftp://agent.example.com"],
    ["a data URL", "data:text/plain,x"],
    ["a user", "https://user@agent.example.com"],
    ["a password", "https://:secret@agent.example.com"],
    ["another port", "https://agent.example.com:8443"],
    ["the port of http", "https://agent.example.com:80"],
    ["localhost", "https://localhost"],
    ["localhost with a dot", "https://localhost./"],
    ["a name under localhost", "https://a.localhost"],
    ["a single label", "https://intranet"],
    ["a .local name", "https://printer.local"],
    ["a .local name with a dot", "https://printer.local./"],
    ["an .internal name", "https://metadata.google.internal"],
    ["a .home.arpa name", "https://router.home.arpa"],
    ["upper case", "https://PRINTER.LOCAL"],
    ["a public IPv4 address", "https://8.8.8.8"],
    ["a loopback address", "https://127.0.0.1"],
    ["a short address", "https://127.1"],
    ["a decimal address", "https://2130706433"],
    ["a hexadecimal address", "https://0x7f000001"],
    ["an octal address", "https://0177.0.0.1"],
    ["full-width digits", "https://１２７.0.0.1"],
    ["an address with a dot at its end", "https://127.0.0.1./"],
    ["the cloud's metadata", "https://169.254.169.254/latest"],
    ["an IPv6 address", "https://[2606:4700::1111]"],
    ["an IPv6 loopback", "https://[::1]"],
    ["an IPv4-mapped address", "https://[::ffff:127.0.0.1]"],
  ])("refuses %s", (_, url) => {
    expect(() => checkPublicUrl(url)).toThrow(
      expect.objectContaining({ name: "PublicFetchError", reason: "refused" }),
    );
  });

  it("lets http through only where it is allowed", () => {
    expect(checkPublicUrl("http://agent.example.com", { allowHttp: true }).port).toBe("");
    expect(() => checkPublicUrl("http://agent.example.com:443", { allowHttp: true })).toThrow();
  });

  it("lets a loopback origin through only when it is listed, port and all", () => {
    const rules = { loopbackOrigins: ["http://127.0.0.1:9000"] };
    expect(checkPublicUrl("http://127.0.0.1:9000/hook", rules).port).toBe("9000");
    for (const url of ["http://127.0.0.1:9001", "https://127.0.0.1:9000", "http://localhost:9000"])
      expect(() => checkPublicUrl(url, rules)).toThrow(PublicFetchError);
  });

  it("names the option that allows a loopback origin, in development only", () => {
    const url = "http://localhost:9001/hook";
    expect(() => checkPublicUrl(url, { loopbackOrigins: ["http://127.0.0.1:9000"] })).toThrow(
      "npm start -- --origins=http://localhost:9001",
    );
    for (const rules of [{}, { loopbackOrigins: [] }, { loopbackOrigins: [""] }])
      expect(() => checkPublicUrl(url, rules)).toThrow(/^must be an https URL$/);
  });

  it("opens nothing but this machine, whatever the list holds", () => {
    const rules = { loopbackOrigins: ["http://10.0.0.1", "http://169.254.169.254"] };
    for (const url of rules.loopbackOrigins)
      expect(() => checkPublicUrl(url, rules)).toThrow(PublicFetchError);
  });
});

describe("isPublicAddress", () => {
  it.each(["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"])(
    "says yes to %s",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.19.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2001:0:1::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fe80::1",
    "ff02::1",
    "not an address",
    "1.2.3",
    "1.2.3.256",
    "",
  ])("says no to %j", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("fetchPublic", () => {
  afterEach(() => vi.restoreAllMocks());

  const answering = (make: (init: RequestInit | undefined) => Response | Promise<Response>) =>
    vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => make(init));

  it("sends nothing to an address that is refused", async () => {
    const fetch = answering(() => new Response());
    await expect(fetchPublic("https://127.0.0.1", OPTIONS)).rejects.toThrow(PublicFetchError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("gives status, headers and body of the answer", async () => {
    answering(() => new Response("hello", { status: 201, headers: { "x-a": "b" } }));
    const answer = await fetchPublic("https://agent.example.com", OPTIONS);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("x-a")).toBe("b");
    expect(new TextDecoder().decode(answer.body)).toBe("hello");
  });

  it("lets go of an answer by which the resolver refuses", async () => {
    let released = 0;
    const fetch = answering(
      () => new Response(new ReadableStream({ cancel: () => void released++ }), { status: 503 }),
    );
    const { resolve: _, ...options } = OPTIONS;
    await expect(fetchPublic("https://agent.example.com", options)).rejects.toMatchObject({
      reason: "unresolved",
    });
    expect(released).toBe(fetch.mock.calls.length);
  });

  it("does not follow a redirect, which could lead inside", async () => {
    const fetch = answering((init) => {
      expect(init?.redirect).toBe("manual");
      return new Response(null, { status: 302, headers: { location: "http://127.0.0.1/" } });
    });
    expect((await fetchPublic("https://agent.example.com", OPTIONS)).status).toBe(302);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("refuses a body that is too large, without reading on", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(60));
      },
    });
    answering(() => new Response(endless));
    await expect(fetchPublic("https://agent.example.com", OPTIONS)).rejects.toMatchObject({
      reason: "too-large",
    });
    expect(sent).toBeLessThan(6);
  });

  it("reads no body where none is wanted", async () => {
    let cancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(60)),
      cancel() {
        cancelled = true;
      },
    });
    answering(() => new Response(body, { status: 201 }));
    const answer = await fetchPublic("https://agent.example.com", { ...OPTIONS, maxBytes: 0 });
    expect(answer).toMatchObject({ status: 201, body: new Uint8Array() });
    expect(cancelled).toBe(true);
  });

  it("ends when time is up", async () => {
    answering(
      (init) =>
        new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        }),
    );
    await expect(
      fetchPublic("https://agent.example.com", { ...OPTIONS, timeoutMs: 20 }),
    ).rejects.toMatchObject({ reason: "timeout" });
  });

  it("tells an unreachable host from a refused one", async () => {
    answering(() => Promise.reject(new Error("Network connection lost.")));
    await expect(fetchPublic("https://agent.example.com", OPTIONS)).rejects.toMatchObject({
      reason: "unreachable",
    });
  });

  it.each([
    ["private", ["10.0.0.1"], "refused"],
    ["public and a private", ["8.8.8.8", "10.0.0.1"], "refused"],
    ["no", [], "unreachable"],
  ])("sends nothing when the name resolves to %s address", async (_, addresses, reason) => {
    const fetch = answering(() => new Response());
    await expect(
      fetchPublic("https://agent.example.com", { ...OPTIONS, resolve: async () => addresses }),
    ).rejects.toMatchObject({ reason });
    expect(fetch).not.toHaveBeenCalled();
  });
});
