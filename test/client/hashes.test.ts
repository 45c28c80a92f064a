import { describe, expect, it } from "vitest";
import { hashInput, hashResult, matchesResult } from "../../client/index.ts";
import vectors from "../vectors/mip004.json";

describe("hashInput and hashResult", () => {
  it.each(vectors.rows)("hash $preimage", async ({ identifier, input, output, hash }) => {
    const made =
      output === undefined ? hashInput(identifier, input) : hashResult(identifier, output);
    expect(await made).toBe(hash);
  });

  it("have numbers and the order of members as RFC 8785 has them", async () => {
    const sha256 = async (text: string) =>
      Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text))).toString("hex");
    const input = { "～": [1.0, 1e-7, 1e20, -0, undefined], "😀": null, gone: undefined, a: "é\n" };
    const text = '00;{"a":"é\\n","😀":null,"～":[1,1e-7,100000000000000000000,0,null]}';
    expect(await hashInput("00", input)).toBe(await sha256(text));
    expect(() => hashInput("00", [Number.NaN])).toThrow(TypeError);
  });

  it("knows a result by either form", async () => {
    const output = 'line1\n"q"';
    const forms = [await hashResult("00", output), await hashResult("00", output, "raw")];
    expect(new Set(forms).size).toBe(2);
    for (const hash of forms)
      expect(await matchesResult(hash.toUpperCase(), "00", output)).toBe(true);
    expect(await matchesResult(forms[0] ?? "", "01", output)).toBe(false);
  });
});
