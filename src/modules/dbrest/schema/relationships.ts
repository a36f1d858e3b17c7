import type { BaseColumns, ForeignKey, Schema, Table } from './schema.ts';

export type Cardinality = 'many-to-one' | 'one-to-many' | 'one-to-one' | 'many-to-many';
type Pairs = readonly (readonly [from: string, to: string])[];

/** A way from the rows of one table or view to those of another. */
export interface Relationship {
  readonly cardinality: Cardinality;
  readonly origin: Table;
  readonly target: Table;
  /** Name of the foreign key; many-to-many: the one that points to the origin. */
  readonly constraint: string;
  /** Column of the origin and column of the target; many-to-many: column of the junction. */
  readonly pairs: Pairs;
  /** The foreign key is the origin's own. */
  readonly owns: boolean;
  readonly isSelf: boolean;
  readonly junction?: {
    readonly table: Table;
    /** The one that points to the target. */
    readonly constraint: string;
    /** Column of the junction and column of the target. */
    readonly pairs: Pairs;
  };
}

/** Columns that a view shows twice make several ways; more than these are not told apart. */
const MOST_COMBINATIONS = 16;

interface RelationshipIndex {
  /** Tables and views of one schema that show a base table, by its object id. */
  readonly showing: ReadonlyMap<string, readonly { readonly table: Table; readonly columns: BaseColumns }[]>;
  /** By object id of the table at either end. */
  readonly foreignKeys: ReadonlyMap<string, readonly ForeignKey[]>;
  readonly relationships: Map<Table, readonly Relationship[]>;
}

const indexes = new WeakMap<Schema, Map<string, RelationshipIndex>>();

/** Everything that a table or view is related to within its schema. Found out once for each table that is asked for. */
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

/** A key as the columns of both sides that show it; nothing where one of its columns is not shown. */
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

/** Many-to-many: through a table or view whose key holds both foreign keys. A view steps back behind its table. */
function junctionRelationships(
  origin: Table,
  direct: readonly Relationship[],
  index: RelationshipIndex,
): Relationship[] {
  const relationships: Relationship[] = [];
  for (const first of direct) {
    const junction = first.target;
    if (first.owns || (junction.isView && first.isSelf) || isShadowed(junction, index)) continue;
    const key = new Set(junction.primaryKey);
    const firstColumns = first.pairs.map(([, column]) => column);
    if (!firstColumns.every((column) => key.has(column))) continue;
    for (const second of directRelationships(junction, index)) {
      const isReverse = second.constraint === first.constraint && second.target === origin;
      if (!second.owns || isReverse || !second.pairs.every(([column]) => key.has(column))) continue;
      relationships.push({
        cardinality: 'many-to-many',
        origin,
        target: second.target,
        constraint: first.constraint,
        pairs: first.pairs,
        owns: false,
        isSelf: origin === second.target,
        junction: { table: junction, constraint: second.constraint, pairs: second.pairs },
      });
    }
  }
  return relationships;
}

function isShadowed(view: Table, { showing }: RelationshipIndex): boolean {
  if (!view.isView) return false;
  return (view.bases ?? []).some(({ base }) => showing.get(base)?.some(({ table }) => !table.isView));
}
