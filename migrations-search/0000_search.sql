-- The search index of the registry: rebuilt from the ledger when it is lost. It has a database of
-- its own because one with virtual tables cannot be exported.
CREATE TABLE search_position (
  network TEXT PRIMARY KEY NOT NULL,
  -- The change stamp up to which the ledger's entries are in the index, epoch milliseconds.
  stamp INTEGER NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE search_entry (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  network TEXT NOT NULL,
  status TEXT NOT NULL
);
--> statement-breakpoint
-- rowid: `number` of search_entry. Trigrams find any part of a text that has three characters.
CREATE VIRTUAL TABLE search_text USING fts5(text, tokenize = 'trigram');
