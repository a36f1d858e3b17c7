import type { BaseColumns, ForeignKey, Schema, Table } from './schema.ts';

type Cardinality = 'many-to-one' | 'one-to-many' | 'one-to-one' | 'many-to-many';
type Pairs = readonly (readonly [from: string, to: string])[];

/** A relationship between two tables or views. */
export interface Relationship {
  readonly cardinality: Cardinality;
  readonly origin: Table;
  readonly target: Table;
  /** Name of the foreign key; for many-to-many that of the key to the origin. */
  readonly constraint: string;
  /** Columns of the origin and of the target; for many-to-many columns of the origin and of the junction. */
  readonly pairs: Pairs;
  /** The foreign key belongs to the origin. */
  readonly owns: boolean;
  readonly isSelf: boolean;
  readonly junction?: {
    readonly table: Table;
    /** Name of the foreign key to the target. */
    readonly constraint: string;
    /** Columns of the junction and of the target. */
    readonly pairs: Pairs;
  };
}

/** A view that selects a key column twice has several relationships; at most this many are distinguished. */
const MOST_COMBINATIONS = 16;

interface RelationshipIndex {
  /** Tables and views of one schema by the object id of a base table that they select. */
  readonly showing: ReadonlyMap<string, readonly { readonly table: Table; readonly columns: BaseColumns }[]>;
  /** By the object ids of both tables. */
  readonly foreignKeys: ReadonlyMap<string, readonly ForeignKey[]>;
  readonly relationships: Map<Table, readonly Relationship[]>;
}

const indexes = new WeakMap<Schema, Map<string, RelationshipIndex>>();

/** All relationships of a table or view within its schema, computed once per table. */
export function relationshipsOf(table: Table, schema: Schema): readonly Relationship[] {
  const index = indexOf(table.schema, schema);
  const known = index.relationships.get(table);
  if (known) return known;
  const direct = directRelationships(table, index);
  const relationships = [...direct, ...junctionRelationships(table, direct, index)];
  index.relationships.set(table, relationships);
  return relationships;
}

function indexOf(name: string, schema: Schema): RelationshipIndex {
  const bySchema = indexes.get(schema) ?? new Map<string, RelationshipIndex>();
  indexes.set(schema, bySchema);
  const known = bySchema.get(name);
  if (known) return known;
  const showing = new Map<string, { table: Table; columns: BaseColumns }[]>();
  for (const table of schema.tables.get(name)?.values() ?? []) {
    for (const columns of table.bases ?? []) {
      showing.set(columns.base, [...(showing.get(columns.base) ?? []), { table, columns }]);
    }
  }
  const index = {
    showing,
    foreignKeys: keysByTable(schema),
    relationships: new Map<Table, readonly Relationship[]>(),
  };
  bySchema.set(name, index);
  return index;
}

function keysByTable({ foreignKeys = [] }: Schema): RelationshipIndex['foreignKeys'] {
  const byTable = new Map<string, ForeignKey[]>();
  for (const key of foreignKeys) {
    for (const end of new Set([key.table, key.target])) {
      const others = byTable.get(end);
      if (others) others.push(key);
      else byTable.set(end, [key]);
    }
  }
  return byTable;
}

function directRelationships(origin: Table, { showing, foreignKeys }: RelationshipIndex): Relationship[] {
  const relationships: Relationship[] = [];
  for (const here of origin.bases ?? []) {
    for (const key of foreignKeys.get(here.base) ?? []) {
      const far = [
        ...(key.table === here.base ? [{ owns: true, id: key.target }] : []),
        ...(key.target === here.base ? [{ owns: false, id: key.table }] : []),
      ];
      for (const { owns, id } of far) {
        for (const { table: target, columns } of showing.get(id) ?? []) {
          for (const pairs of shownPairs(key, owns, { here, there: columns })) {
            const isSelf = origin === target;
            relationships.push({
              cardinality: cardinalityOf(key, owns),
              origin,
              target,
              constraint: key.name,
              pairs,
              owns,
              isSelf,
            });
          }
        }
      }
    }
  }
  return relationships;
}

function cardinalityOf({ unique }: ForeignKey, owns: boolean): Cardinality {
  if (unique) return 'one-to-one';
  return owns ? 'many-to-one' : 'one-to-many';
}

/** The pairs of columns that represent a key on both sides; empty if a column is not selected by a view. */
function shownPairs(
  key: ForeignKey,
  owns: boolean,
  { here, there }: { here: BaseColumns; there: BaseColumns },
): Pairs[] {
  let combinations: (readonly [string, string])[][] = [[]];
  for (const [column, targetColumn] of key.pairs) {
    const froms = namesIn(here, owns ? column : targetColumn);
    const tos = namesIn(there, owns ? targetColumn : column);
    const pairs = froms.flatMap((from) => tos.map((to) => [from, to] as const));
    combinations = combinations.flatMap((done) => pairs.map((pair) => [...done, pair]));
    combinations.length = Math.min(combinations.length, MOST_COMBINATIONS);
  }
  return combinations;
}

function namesIn({ columns }: BaseColumns, column: string): readonly string[] {
  return columns ? (columns.get(column) ?? []) : [column];
}

/** Many-to-many relationships through a table or view whose primary key contains two foreign keys. */
function junctionRelationships(
  origin: Table,
  direct: readonly Relationship[],
  index: RelationshipIndex,
): Relationship[] {
  const relationships: Relationship[] = [];
  for (const first of direct) {
    const junction = first.target;
    if (first.owns || (junction.isView && first.isSelf)) continue;
    const key = new Set(junction.primaryKey);
    const firstColumns = first.pairs.map(([, column]) => column);
    if (!firstColumns.every((column) => key.has(column))) continue;
    for (const second of directRelationships(junction, index)) {
      const isSelf = origin === second.target;
      if (!second.owns || second.constraint === first.constraint) continue;
      if (!second.pairs.every(([column]) => key.has(column)) || (isSelf && isShadowed(junction, index)))
        continue;
      relationships.push({
        cardinality: 'many-to-many',
        origin,
        target: second.target,
        constraint: first.constraint,
        pairs: first.pairs,
        owns: false,
        isSelf,
        junction: { table: junction, constraint: second.constraint, pairs: second.pairs },
      });
    }
  }
  return relationships;
}

/** Hints for self-relationships name a foreign key. If a table and a view of it have the key, the table is used. */
function isShadowed(view: Table, { showing }: RelationshipIndex): boolean {
  if (!view.isView) return false;
  return (view.bases ?? []).some(({ base }) => showing.get(base)?.some(({ table }) => !table.isView));
}
