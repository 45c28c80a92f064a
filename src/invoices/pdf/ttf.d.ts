/** A font file, bundled as it is; see `rules` in wrangler.toml. */
declare module "*.ttf" {
  const bytes: ArrayBuffer;
  export default bytes;
}
