import { bech32 } from "@scure/base";
import { describe, expect, it } from "vitest";
import {
  AddressError,
  addressFromBytes,
  addressToBytes,
  formatAddress,
  parseAddress,
} from "../../src/chain/address.ts";
import { bytesToHex, hexToBytes } from "../../src/chain/hex.ts";
import VECTORS from "../vectors/chain.json" with { type: "json" };

const KEY = "9493315cd92eb5d8c4304e67b7e16ae36d61d34502694657811a2c8e";
// CIP-19's pointer and stake addresses; the Byron address is the oldest form.
const POINTER = "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k";
const STAKE = "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw";
const BYRON =
  "37btjrVyb4KDXBNC4haBVPCrro8AQPHwvCMp3RFhhSVWwfFmZ6wwzSK6JK1hY6wHNmtrpTf1kdbva8TCneM2YsiXT7mrzT21EacHnPpz5YyUdj64na";
const BASE = VECTORS.addresses[0]?.bech32 ?? "";

describe("parseAddress", () => {
  it("drops the pointer of a pointer address", () => {
    expect(parseAddress(POINTER)).toEqual({
      bech32: POINTER,
      network: "Mainnet",
      payment: { kind: "key", hash: KEY },
      stake: null,
    });
  });

  it("takes upper case, as bech32 does, and answers in lower case", () => {
    expect(parseAddress(BASE.toUpperCase())).toEqual(parseAddress(BASE));
  });

  it.each([
    ["nothing", ""],
    ["other text", "hello"],
    ["a wrong checksum", `${BASE.slice(0, -1)}q`],
    ["a stake address", STAKE],
    ["a Byron address", BYRON],
    ["a test network's prefix on a Mainnet address", asBech32("addr_test", `61${KEY}`)],
    ["a network that does not exist", asBech32("addr", `65${KEY}`)],
    ["a header of no known type", asBech32("addr", `91${KEY}`)],
    ["an address without a hash", asBech32("addr", "61")],
    ["a hash that is too short", asBech32("addr", `61${KEY.slice(2)}`)],
    ["a base address without its stake part", asBech32("addr", `01${KEY}`)],
    ["bytes behind an enterprise address", asBech32("addr", `61${KEY}00`)],
    ["a text of no end", `addr1${"q".repeat(100_000)}`],
  ])("is null for %s", (_, text) => {
    expect(parseAddress(text)).toBeNull();
  });
});

describe("addresses", () => {
  it.each(VECTORS.addresses.filter(({ bech32: text }) => !/^addr1[g2]/.test(text)))(
    "$bech32 is put together from its parts",
    ({ bech32: text, payment, stake }) => {
      const parts = parseAddress(text);
      expect(parts && formatAddress(parts)).toBe(text);
      expect(parts).toMatchObject({ payment, stake });
    },
  );

  it.each([BASE, POINTER, STAKE, BYRON])("%s goes to bytes and back", (text) => {
    expect(addressFromBytes(addressToBytes(text))).toBe(text);
  });

  it("belong to one network", () => {
    expect(parseAddress(BASE)?.network).toBe("Mainnet");
    expect(parseAddress("")).toBeNull();
  });

  it("of unknown kinds are refused", () => {
    expect(() => addressFromBytes(new Uint8Array(0))).toThrow(AddressError);
    expect(() => addressFromBytes(hexToBytes(`91${KEY}`))).toThrow(AddressError);
    expect(() => addressFromBytes(hexToBytes(`65${KEY}`))).toThrow(AddressError);
    expect(() => addressToBytes("0OIl")).toThrow(AddressError);
    expect(() => addressToBytes("")).toThrow(AddressError);
  });

  it("have the bytes of their header and hashes", () => {
    expect(bytesToHex(addressToBytes(VECTORS.addresses[6]?.bech32 ?? ""))).toBe(`61${KEY}`);
  });
});

function asBech32(prefix: string, hex: string): string {
  return bech32.encode(prefix, bech32.toWords(hexToBytes(hex)), false);
}
