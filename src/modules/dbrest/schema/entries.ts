import type { DiscoveryEntries } from './discovery.ts';
import type { RelationKind, Representation } from './schema.ts';

/** The entries of each section, as written by `CATALOGUE_SQL`; `view` is derived from `viewTree`. */
export interface CatalogueEntries extends DiscoveryEntries {
  readonly table: readonly [
    id: string,
    schema: string,
    name: string,
    kind: RelationKind,
    columns: readonly (readonly [number: number, name: string, type: string, comment: string | null])[],
    keys: readonly (readonly [kind: 'p' | 'u', columns: readonly number[]])[],
    grantees: readonly string[],
    comment: string | null,
  ];
  /** Columns that come from other relations, by attribute number. */
  readonly view: readonly [
    id: string,
    columns: readonly (readonly [number: number, table: string, column: number])[],
  ];
  readonly foreignKey: readonly [
    name: string,
    table: string,
    target: string,
    columns: readonly number[],
    targetColumns: readonly number[],
  ];
  readonly rowFunction: readonly [
    table: string,
    schema: string,
    name: string,
    type: string,
    returnsSet: boolean,
    rows: number,
    returns: string | null,
  ];
  readonly function: readonly [
    schema: string,
    name: string,
    kind: 'f' | 'p',
    volatility: 'v' | 's' | 'i',
    returnsSet: boolean,
    type: string,
    relation: string | null,
    columns: readonly (readonly [name: string, type: string])[] | null,
    mediaType: string | null,
    arguments: readonly (readonly [name: string, type: string])[],
    defaults: number,
    isVariadic: boolean,
    timeout: string | null,
    isolation: string | null,
    grantees: readonly string[],
    comment: string | null,
    isOneRow: boolean,
  ];
  readonly mediaHandler: readonly [schema: string, name: string, mediaType: string, argument: string | null];
  /** `base`: the base type of a domain. `equality`: the schema of its own operator `=`. */
  readonly type: readonly [
    schema: string,
    name: string,
    formatted: string,
    base: string | null,
    id: string,
    equality: string | null,
  ];
  /** A cast between a domain and its representation. */
  readonly representation: readonly [domain: string, use: keyof Representation, schema: string, name: string];
  /** Object id of a relation. */
  readonly inert: string;
  /** Object id of a table whose triggers announce changes by its primary key. */
  readonly announcing: string;
  readonly inertWrites: readonly [id: string, cascades: boolean, sequences: boolean];
  readonly textSearchConfig: string;
  readonly setting: readonly [name: string, value: string | null];
  readonly role: readonly [
    name: string,
    isSuperuser: boolean,
    privilegesOf: readonly string[],
    settings: readonly (readonly [name: string, value: string])[] | null,
  ];
  readonly writing: readonly [
    id: string,
    columns: readonly (readonly [
      number: number,
      isNotNull: boolean,
      identity: '' | 'a' | 'd',
      isGenerated: boolean,
      defaultSql: string | null,
    ])[],
    indexes: readonly (readonly [columns: readonly number[], predicate: string | null])[],
    exclusions: readonly (readonly [name: string, columns: readonly number[]])[],
    completes: boolean,
  ];
}

export type CatalogueSection = keyof CatalogueEntries;

/** A column of a view and the column that it selects, both by attribute number. */
interface ViewColumn {
  readonly number: number;
  /** Object id of a relation, which may be a view. */
  readonly table: string;
  readonly column: number;
}

/** Brackets and the relevant fields of a node tree; a backslash escapes the next character. */
const TOKEN = /\\.|[({})]|:(?:targetList|resno|resorigtbl|resorigcol|resjunk) (-?[\w<>]+)?/gs;
/** Bracket depths in the outermost query. */
const QUERY_DEPTH = 2;
const ENTRY_DEPTH = 4;

/**
 * Finds the origins of a view's columns in the parse tree of its rule (`pg_rewrite.ev_action`). PostgreSQL notes the
 * table and column number of every plain column there, through joins and subqueries.
 */
function viewColumns(tree: string): ViewColumn[] {
  const columns: ViewColumn[] = [];
  let depth = 0;
  let inTargets = false;
  let entry: Record<string, string> = {};
  for (const [token, value] of tree.matchAll(TOKEN)) {
    if (token === '(' || token === '{') {
      depth += 1;
      if (inTargets && depth === ENTRY_DEPTH) entry = {};
    } else if (token === ')' || token === '}') {
      if (inTargets && depth === ENTRY_DEPTH) columns.push(...columnOf(entry));
      depth -= 1;
      if (depth === QUERY_DEPTH) inTargets = false;
    } else if (depth === QUERY_DEPTH && token.startsWith(':targetList')) {
      inTargets = true;
    } else if (inTargets && depth === ENTRY_DEPTH && value !== undefined) {
      entry[token.slice(1, token.indexOf(' '))] = value;
    }
  }
  return columns;
}

function columnOf({ resno, resorigtbl, resorigcol, resjunk }: Record<string, string>): ViewColumn[] {
  if (resjunk !== 'false' || resorigtbl === undefined || resorigtbl === '0') return [];
  return [{ number: Number(resno), table: resorigtbl, column: Number(resorigcol) }];
}

/** The catalogue in shared memory: UTF-8, each entry as section, blank, JSON, NUL. */
export type Catalogue = SharedArrayBuffer;

/** Texts of PostgreSQL contain no NUL. */
const END = '\0';
/** Characters between two yields to the event loop. */
const PIECE_CHARACTERS = 65_536;

/** A sink for the rows of `CATALOGUE_SQL`. Parse trees of views, by far the most text, are reduced to their columns. */
export class CatalogueWriter {
  #pieces: Buffer[] = [];
  #text = '';
  #taken = 0;

  begin(): void {
    this.#pieces = [];
    this.#text = '';
  }

  /** Never called, because the statement is not described. */
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

/** An entry and its section. */
export type SectionEntry = {
  [S in CatalogueSection]: readonly [section: S, entry: CatalogueEntries[S]];
}[CatalogueSection];

/** Yields all entries in order. */
export function* entriesOf(catalogue: Catalogue): Generator<SectionEntry> {
  const bytes = Buffer.from(catalogue);
  for (let from = 0; from < bytes.length;) {
    const blank = bytes.indexOf(' ', from);
    const end = bytes.indexOf(END, blank);
    const section = bytes.toString('latin1', from, blank);
    const entry: readonly [string, unknown] = [section, JSON.parse(bytes.toString('utf8', blank + 1, end))];
    yield entry as SectionEntry;
    from = end + 1;
  }
}

function viewEntry(text: string): string {
  const blank = text.indexOf(' ');
  const id = text.slice(0, blank);
  const columns = viewColumns(text.slice(blank)).map(({ number, table, column }) => [number, table, column]);
  return `view ${JSON.stringify([id, columns])}${END}`;
}
