import type { DiscoveryEntries } from './discovery.ts';
import type { RelationKind } from './types.ts';

/** What each section of the catalogue is made of; `CATALOGUE_SQL` writes them, but for `view`, which is made of its trees. */
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
  /** Which of its columns are columns of other relations, by attribute number. */
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
    grantees: readonly string[],
    comment: string | null,
  ];
  readonly mediaHandler: readonly [schema: string, name: string, mediaType: string, argument: string | null];
  /** `base`: what a domain is made of. */
  readonly type: readonly [schema: string, name: string, formatted: string, base: string | null];
  /** A cast between a domain and what clients see of it. */
  readonly representation: readonly [domain: string, isShown: boolean, schema: string, name: string];
  /** Object id of a relation. */
  readonly inert: string;
  readonly textSearchConfig: string;
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
  ];
}

export type Section = keyof CatalogueEntries;
