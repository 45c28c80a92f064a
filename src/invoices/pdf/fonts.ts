/// <reference path="./ttf.d.ts" />
/** The two faces an invoice is set in. */
export interface FontFiles {
  /** TrueType files. */
  regular: Uint8Array;
  bold: Uint8Array;
}

let bundledFonts: Promise<FontFiles> | null = null;

/** The fonts bundled with the Worker: Noto Sans, which has Latin, Greek and Cyrillic. */
export function loadFonts(): Promise<FontFiles> {
  bundledFonts ??= importFonts();
  return bundledFonts;
}

async function importFonts(): Promise<FontFiles> {
  const [regular, bold] = await Promise.all([
    import("@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf"),
    import("@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf"),
  ]);
  return { regular: new Uint8Array(regular.default), bold: new Uint8Array(bold.default) };
}
