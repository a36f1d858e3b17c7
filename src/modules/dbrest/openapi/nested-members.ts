import { type Relationship, relationshipsOf, type Schema, type Table } from '../schema/index.ts';

/** A member of new rows that holds rows of a related table. */
export interface NestedMember {
  readonly name: string;
  readonly target: Table;
  /** It is one row; otherwise it is a list. */
  readonly isOne: boolean;
  /** The columns of the row around it that get their values from it. */
  readonly fills: readonly string[];
  /** The columns of its rows that get their values from the row around it. */
  readonly filled: readonly string[];
}

/** Where rows may be nested. */
interface NestingScope {
  readonly known: Schema;
  /** Returns whether rows of a table may be in others; absent without `dbrest_nested_insert`. */
  readonly nests?: ((schema: string, table: string) => boolean) | undefined;
}

/** The members of new rows of a table that hold rows of related tables. A member that is a column is one. */
export function nestedMembers(table: Table, { known, nests }: NestingScope): readonly NestedMember[] {
  if (!nests || table.isView) return [];
  const direct = relationshipsOf(table, known).filter(
    ({ junction, target }) => !junction && !target.isView && nests(target.schema, target.name),
  );
  return direct.map((one) => memberOf(one, direct)).filter(({ name }) => !table.columns.has(name));
}

function memberOf(relationship: Relationship, all: readonly Relationship[]): NestedMember {
  const { target, owns, cardinality, pairs } = relationship;
  return {
    name: nameOf(relationship, all),
    target,
    isOne: owns || cardinality === 'one-to-one',
    fills: owns ? pairs.map(([here]) => here) : [],
    filled: owns ? [] : pairs.map(([, there]) => there),
  };
}

/** The name of a member: the table, with the key as a hint if there are several. */
function nameOf({ target, constraint, isSelf, owns }: Relationship, all: readonly Relationship[]): string {
  if (isSelf && owns) return constraint;
  const isOnly = all.filter((one) => one.target === target).length === 1 || isSelf;
  return isOnly ? target.name : `${target.name}!${constraint}`;
}
