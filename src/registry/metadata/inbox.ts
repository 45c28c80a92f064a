import * as z from "zod";

/** Whether a token's metadata is an inbox agent's, which is not one of the agents here. */
export function isInboxMetadata(value: unknown): boolean {
  return inboxMetadataSchema.safeParse(value).success;
}

const inboxMetadataSchema = z.object({
  type: z
    .union([z.string(), z.array(z.string()).transform((pieces) => pieces.join(""))])
    .pipe(z.string().regex(/^MasumiInboxV\d+$/)),
});
