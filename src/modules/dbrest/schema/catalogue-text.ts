import type { CatalogueEntries, Section } from './catalogue-entries.ts';
import { viewColumns } from './view-columns.ts';

/** The catalogue as every worker can read it: UTF-8, each entry `section`, blank, JSON, NUL. */
export type Catalogue = SharedArrayBuffer;

/** Nothing that PostgreSQL gives has a NUL in it. */
const END = '\0';
/** Between two pieces of this size others have their turn. */
const PIECE_CHARACTERS = 65_536;

/**
 * Takes the rows of `CATALOGUE_SQL` as a session hands them out. Of the parse trees of views, by far the most of the text,
 * only the columns are kept.
 */
export class CatalogueWriter {
  #pieces: Buffer[] = [];
  #text = '';
  #taken = 0;

  begin(): void {
    this.#pieces = [];
    this.#text = '';
  }

  /** Rows that nobody described: never called. */
  columns(): void {}

  row([section, entry]: readonly (string | null)[]): Promise<void> | undefined {
    if (!section || !entry) return undefined;
    this.#text += section === 'viewTree' ? viewEntry(entry) : `${section} ${entry}${END}`;
    this.#taken += entry.length;
    if (this.#taken < PIECE_CHARACTERS) return undefined;
    this.#flush();
    return new Promise((resolve) => setImmediate(resolve));
  }

  finish(): Catalogue {
    this.#flush();
    const catalogue = new SharedArrayBuffer(this.#pieces.reduce((sum, { length }) => sum + length, 0));
    const bytes = Buffer.from(catalogue);
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(bytes, at);
    return catalogue;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
    this.#taken = 0;
  }
}

/** An entry with its section. */
export type Entry = { [S in Section]: readonly [section: S, entry: CatalogueEntries[S]] }[Section];

/** All entries in their order. */
export function* entriesOf(catalogue: Catalogue): Generator<Entry> {
  const bytes = Buffer.from(catalogue);
  for (let from = 0; from < bytes.length;) {
    const blank = bytes.indexOf(' ', from);
    const end = bytes.indexOf(END, blank);
    const section = bytes.toString('latin1', from, blank);
    yield [section, JSON.parse(bytes.toString('utf8', blank + 1, end))] as unknown as Entry;
    from = end + 1;
  }
}

function viewEntry(text: string): string {
  const blank = text.indexOf(' ');
  const id = text.slice(0, blank);
  const columns = viewColumns(text.slice(blank)).map(({ number, table, column }) => [number, table, column]);
  return `view ${JSON.stringify([id, columns])}${END}`;
}
