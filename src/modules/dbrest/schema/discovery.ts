/** The sections of `DISCOVERY_SQL`. */
export interface DiscoveryEntries {
  readonly access: readonly [
    id: string,
    /** 4: rows can be updated, 8: inserted, 16: deleted, whoever asks (`pg_relation_is_updatable`). */
    writable: number,
    grants: readonly (readonly [grantee: string, letters: string])[],
    columnGrants: readonly (readonly [column: number, grantee: string, letters: string])[],
    isPartition: boolean,
  ];
  readonly shape: readonly [
    type: string,
    kind: 'e' | 'd' | 'c' | 'b',
    of: readonly string[] | string | readonly (readonly [name: string, type: string])[] | null,
    isNotNull: boolean,
    comment: string | null,
  ];
  readonly namespace: readonly [name: string, comment: string | null, users: readonly string[] | null];
}

/** A kind of privilege, by its letter in an access control list: insert, read, update, delete. */
export type Privilege = 'a' | 'r' | 'w' | 'd';

/** What can be done with a relation, and who may. */
export interface Access {
  readonly insertable: boolean;
  readonly updatable: boolean;
  readonly deletable: boolean;
  /** Of a partitioned table, under which it is known. */
  readonly isPartition: boolean;
  /** Letters of privileges by the object id of their holder; '0' is PUBLIC. */
  readonly grants: ReadonlyMap<string, string>;
  /** The same for single columns. */
  readonly columnGrants?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** What a type that users made is made of. */
export type TypeShape = { readonly comment?: string } & (
  | { readonly kind: 'enum'; readonly labels: readonly string[] }
  | { readonly kind: 'domain'; readonly base: string; readonly isNotNull: boolean }
  | { readonly kind: 'composite'; readonly fields: readonly (readonly [name: string, type: string])[] }
  /** Becomes any JSON at all, by a cast of its own. */
  | { readonly kind: 'json' }
);

/** A schema of the database. */
export interface Namespace {
  readonly comment?: string;
  /** Object ids of the roles that may use what is in it. */
  readonly users: readonly string[];
}

const UPDATE = 4;
const INSERT = 8;
const DELETE = 16;

/** `names`: columns by their attribute numbers. */
export function accessOf(
  [, writable, grants, columnGrants, isPartition]: DiscoveryEntries['access'],
  names: ReadonlyMap<number, string>,
): Access {
  const columns = new Map<string, Map<string, string>>();
  for (const [number, grantee, letters] of columnGrants) {
    const column = names.get(number) ?? '';
    columns.set(column, (columns.get(column) ?? new Map<string, string>()).set(grantee, letters));
  }
  return {
    insertable: (writable & INSERT) !== 0,
    updatable: (writable & UPDATE) !== 0,
    deletable: (writable & DELETE) !== 0,
    isPartition,
    grants: new Map(grants),
    ...(columns.size > 0 && { columnGrants: columns }),
  };
}

/** What the entry of a type says of it. */
export function shapeOf([, kind, of, isNotNull, comment]: DiscoveryEntries['shape']): TypeShape {
  const noted = comment === null ? {} : { comment };
  switch (kind) {
    case 'e':
      return { ...noted, kind: 'enum', labels: (of ?? []) as readonly string[] };
    case 'd':
      return { ...noted, kind: 'domain', base: of as string, isNotNull };
    case 'c':
      return { ...noted, kind: 'composite', fields: (of ?? []) as readonly (readonly [string, string])[] };
    case 'b':
      return { ...noted, kind: 'json' };
  }
}

/** What the entry of a schema says of it. */
export function namespaceOf([, comment, users]: DiscoveryEntries['namespace']): Namespace {
  return { users: users ?? [], ...(comment !== null && { comment }) };
}
