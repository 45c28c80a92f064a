/** The colour space sRGB (IEC 61966-2-1) as an ICC profile of version 2.1: matrix and curve. */

/** XYZ of the illuminant D50, and of the primaries adapted to it. */
const D50 = [0.9642, 1, 0.8249];
const PRIMARIES = {
  rXYZ: [0.4361, 0.2225, 0.0139],
  gXYZ: [0.3851, 0.7169, 0.0971],
  bXYZ: [0.1431, 0.0606, 0.7141],
};
const CURVE_POINTS = 256;

/** The bytes of the profile. */
export function srgbProfile(): Uint8Array {
  const curve = curveOf(Array.from({ length: CURVE_POINTS }, (_, i) => i / (CURVE_POINTS - 1)));
  const tags: [name: string, data: Buffer][] = [
    ["desc", description("sRGB IEC61966-2.1")],
    ["cprt", Buffer.concat([Buffer.from("text\0\0\0\0"), Buffer.from("No copyright\0")])],
    ["wtpt", xyz(D50)],
    ...Object.entries(PRIMARIES).map(([name, values]): [string, Buffer] => [name, xyz(values)]),
    ["rTRC", curve],
    ["gTRC", curve],
    ["bTRC", curve],
  ];
  const start = 128 + 4 + 12 * tags.length;
  const table = [uint32(tags.length)];
  const data: Buffer[] = [];
  const offsets = new Map<Buffer, number>();
  let end = start;
  for (const [name, tag] of tags) {
    let offset = offsets.get(tag);
    if (offset === undefined) {
      offset = end;
      offsets.set(tag, offset);
      const padded = Buffer.concat([tag, Buffer.alloc((4 - (tag.length % 4)) % 4)]);
      data.push(padded);
      end += padded.length;
    }
    table.push(Buffer.from(name), uint32(offset), uint32(tag.length));
  }
  return new Uint8Array(Buffer.concat([header(end), ...table, ...data]));
}

function header(size: number): Buffer {
  const bytes = Buffer.alloc(128);
  bytes.writeUInt32BE(size, 0);
  bytes.writeUInt32BE(0x02100000, 8);
  bytes.write("mntrRGB XYZ ", 12);
  // Its date is of no meaning; a month and a day must not be zero.
  for (const [index, part] of [2025, 1, 1].entries()) bytes.writeUInt16BE(part, 24 + 2 * index);
  bytes.write("acsp", 36);
  for (const [index, value] of D50.entries()) bytes.writeInt32BE(fixed(value), 68 + 4 * index);
  return bytes;
}

function description(text: string): Buffer {
  const ascii = Buffer.from(`${text}\0`);
  // After the text come an empty Unicode one and an empty one for Macintosh, of 67 bytes.
  const others = Buffer.alloc(4 + 4 + 2 + 1 + 67);
  return Buffer.concat([Buffer.from("desc\0\0\0\0"), uint32(ascii.length), ascii, others]);
}

function xyz(values: readonly number[]): Buffer {
  return Buffer.concat([
    Buffer.from("XYZ \0\0\0\0"),
    ...values.map((value) => uint32(fixed(value))),
  ]);
}

/** The light that values from 0 to 1 stand for, as sRGB defines it. */
function curveOf(values: readonly number[]): Buffer {
  const points = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) {
    const light = value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    points.writeUInt16BE(Math.round(light * 0xffff), 2 * index);
  }
  return Buffer.concat([Buffer.from("curv\0\0\0\0"), uint32(values.length), points]);
}

/** s15Fixed16Number. */
function fixed(value: number): number {
  return Math.round(value * 0x10000);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
