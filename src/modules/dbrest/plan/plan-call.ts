import type { CallInput, ReadRequest } from '../request/index.ts';
import type { Argument, Schema, StoredFunction, Table } from '../schema/index.ts';
import type { Context, ReadTarget } from './context.ts';
import { findFunction } from './find-function.ts';
import { planRows } from './plan-read.ts';
import type { ReadPlan } from './read-plan.ts';

/** A call whose every name was found in the schema. */
export interface CallPlan {
  readonly called: StoredFunction;
  /** Those of its arguments that are given; the others have a default. */
  readonly given: readonly Argument[];
  readonly input: CallInput;
  /** The whole input is its one argument. */
  readonly takesAll: boolean;
  /** What is asked of the rows of its result; a value is a row of one column with its name. */
  readonly rows: ReadPlan;
  /** Its values are shown as such, and not as rows. */
  readonly showsValues: boolean;
}

/** What a request says of a call. */
export interface CallRequest {
  readonly input: CallInput;
  /** `Prefer: params=single-object`. */
  readonly asObject: boolean;
  readonly read: ReadRequest;
}

/** Finds the function and checks what is asked of its rows. Throws a `DbrestFault`. */
export function planCall(
  { input, asObject, read }: CallRequest,
  target: ReadTarget,
  known: Schema,
): CallPlan {
  const context: Context = { ...target, known };
  const { called, takesAll } = findFunction(input, asObject, context);
  const rows = planRows(read, rowsOf(called, known), context);
  return {
    called,
    given: takesAll ? called.arguments : called.arguments.filter(({ name }) => isGiven(input, name)),
    input,
    takesAll,
    rows,
    showsValues: isValue(called) && rows.outputs.every(({ kind }) => kind === 'all'),
  };
}

function isGiven(input: CallInput, name: string): boolean {
  return input.kind === 'texts'
    ? input.texts.has(name)
    : input.kind === 'json' && input.keys?.includes(name) === true;
}

function isValue({ returns: { kind } }: StoredFunction): boolean {
  return kind === 'scalar' || kind === 'void';
}

const tables = new WeakMap<StoredFunction, Table>();

/** Its rows as those of a table: made once for each function, for what is found out of a table is kept with it. */
function rowsOf(called: StoredFunction, known: Schema): Table {
  const table = tables.get(called) ?? tableOf(called, known);
  tables.set(called, table);
  return table;
}

function tableOf({ schema, name, returns }: StoredFunction, known: Schema): Table {
  // It lies in no schema: nothing that is known of a table is about it.
  const ownRows = { schema: '', name, primaryKey: [], grantees: [], bases: [] };
  switch (returns.kind) {
    case 'table': {
      const table = known.tables.get(returns.table.schema)?.get(returns.table.name) as Table;
      // What a schema holds is shown where that schema is served, and not through functions of another.
      return table.schema === schema ? table : { ...table, bases: [] };
    }
    case 'columns':
      return { ...ownRows, columns: new Map(returns.columns.map((column) => [column.name, column])) };
    case 'scalar':
    case 'void': {
      const type = returns.kind === 'scalar' ? returns.type : 'void';
      return { ...ownRows, columns: new Map([[name, { name, type }]]) };
    }
  }
}
