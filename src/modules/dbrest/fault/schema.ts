import { DbrestFault } from './dbrest-fault.ts';

/** PGRST106, 406. The response does not show whether the schema exists. */
export function schemaNotExposed(schema: string, exposed: readonly string[]): DbrestFault {
  const hint = `Only the following schemas are exposed: ${exposed.join(', ')}`;
  return new DbrestFault({ code: 'PGRST106', status: 406, message: `Invalid schema: ${schema}`, hint });
}

/** PGRST205, 404. `similar`: the most similar name of a table. */
export function noTable(schema: string, table: string, similar: string | undefined): DbrestFault {
  const message = `Could not find the table '${schema}.${table}' in the schema cache`;
  const hint = similar === undefined ? null : `Perhaps you meant the table '${schema}.${similar}'`;
  return new DbrestFault({ code: 'PGRST205', status: 404, message, hint });
}

/** Hints of `noColumn`. */
const INSTEAD = {
  aggregate: 'Aggregates are filtered by "having", for example "having=count().gt.3".',
  constraint: '"on_conflict" takes the columns of a key, not the name of its constraint.',
} as const;
/** The things that a client may take for a column. */
export type TakenFor = keyof typeof INSTEAD;

/** The possible meanings of a name: at most two columns, or something that is not a column. */
interface Meant {
  readonly similar: readonly string[];
  readonly instead?: TakenFor | undefined;
}

/** 42703, 400, in PostgreSQL's words: an unknown name is never put into a statement. */
export function noColumn(table: string, column: string, { similar, instead }: Meant): DbrestFault {
  const message = `column ${table}.${column} does not exist`;
  const names = similar.map((name) => `the column "${table}.${name}"`).join(' or ');
  const other = instead === undefined ? null : INSTEAD[instead];
  const hint = names === '' ? other : `Perhaps you meant to reference ${names}.`;
  return new DbrestFault({ code: '42703', status: 400, message, hint });
}

/** 42704, 400, in PostgreSQL's words. */
export function noType(type: string): DbrestFault {
  return new DbrestFault({ code: '42704', status: 400, message: `type "${type}" does not exist` });
}

interface Name {
  readonly schema: string;
  readonly name: string;
}
type Pairs = readonly (readonly [from: string, to: string])[];

/** One of several relationships that an embed could use. */
interface CandidateRelationship {
  readonly cardinality: string;
  readonly origin: Name;
  readonly target: Name;
  readonly constraint: string;
  readonly pairs: Pairs;
  readonly junction?: { readonly table: Name; readonly constraint: string; readonly pairs: Pairs };
}

interface EmbedName {
  readonly target: string;
  readonly hint?: string;
}

/** PGRST108, 400: a filter, order or limit on what is not embedded. `isAggregate`: its name is that of an aggregate. */
export function notEmbedded(name: string, isAggregate: boolean): DbrestFault {
  return new DbrestFault({
    code: 'PGRST108',
    status: 400,
    message: `'${name}' is not an embedded resource in this request`,
    hint: isAggregate
      ? `An aggregate is written behind its column: "amount.${name}()".`
      : `Verify that '${name}' is included in the 'select' query parameter.`,
  });
}

/** PGRST108, 400: the same by the name of an embed that has an alias, with `dbrest_legacy_target_names off`. */
export function targetHasAlias(name: string, alias: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST108',
    status: 400,
    message: `'${name}' is not an embedded resource in this request`,
    details: 'Target names are not allowed in filters if they have an alias',
    hint: `Change '${name}' to '${alias}' in filters, orders or limits.`,
  });
}

/** PGRST118, 400: an order by an embed that may have many rows. */
export function noRelatedOrder(origin: string, target: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST118',
    status: 400,
    message: `A related order on '${target}' is not possible`,
    details: `'${origin}' and '${target}' do not form a many-to-one or one-to-one relationship`,
    hint: `Order by an aggregate of its rows, for example "${target}(count)" or "${target}(amount.sum())".`,
  });
}

/** PGRST118, 400: an order by an aggregate of an embed that has at most one row. */
export function noAggregateOrder(origin: string, target: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST118',
    status: 400,
    message: `A related order on '${target}' is not possible`,
    details: `'${origin}' and '${target}' do not form a one-to-many or many-to-many relationship, of which there are aggregates`,
    hint: `Order by a column of its row, for example "${target}(name)".`,
  });
}

/** PGRST120, 400. */
export function badEmbedOperator(target: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST120',
    status: 400,
    message: `Bad operator on the '${target}' embedded resource`,
    details: 'Only is null or not is null filters are allowed on embedded resources',
  });
}

/** PGRST123, 400. */
export function noAggregates(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST123',
    status: 400,
    message: 'Use of aggregate functions is not allowed',
  });
}

/** 42803, 400, in PostgreSQL's words, but with the name of the table instead of gw's alias. */
export function notGrouped(table: string, column: string): DbrestFault {
  const message = `column "${table}.${column}" must appear in the GROUP BY clause or be used in an aggregate function`;
  return new DbrestFault({ code: '42803', status: 400, message });
}

/** 42P10, 400, in PostgreSQL's words: an order of distinct rows by a value that they do not show. */
export function notSelected(): DbrestFault {
  const message = 'for SELECT DISTINCT, ORDER BY expressions must appear in select list';
  const hint = 'With "distinct=on.*", "order" names what "select" shows.';
  return new DbrestFault({ code: '42P10', status: 400, message, hint });
}

/** 42P10, 400, in PostgreSQL's words. */
export function distinctOrder(): DbrestFault {
  return new DbrestFault({
    code: '42P10',
    status: 400,
    message: 'SELECT DISTINCT ON expressions must match initial ORDER BY expressions',
    hint: 'Begin "order" with what "distinct" names.',
  });
}

/** PGRST127, 400: groups of the rows of a spread, which are rows of the one around it. */
export function spreadGroups(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: 'Filters and orders by aggregates are not implemented for spreads.',
  });
}

/** PGRST127, 400: an aggregate in a to-many spread. */
export function toManyAggregate(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
  });
}

/** PGRST200, 400. `similar`: the most similar name, and the name that it replaces. */
export function noRelationship(
  { target, hint }: EmbedName,
  { schema, name }: Name,
  similar: { instead: string; of: string } | undefined,
): DbrestFault {
  const between = `between '${name}' and '${target}'`;
  const using = hint === undefined ? '' : ` using the hint '${hint}'`;
  return new DbrestFault({
    code: 'PGRST200',
    status: 400,
    message: `Could not find a relationship ${between} in the schema cache`,
    details: `Searched for a foreign key relationship ${between}${using} in the schema '${schema}', but no matches were found.`,
    hint: similar ? `Perhaps you meant '${similar.instead}' instead of '${similar.of}'.` : null,
  });
}

/** PGRST201, 300, with all candidate relationships in the order of their descriptions. */
export function ambiguousRelationship(
  { target }: EmbedName,
  origin: Name,
  candidates: readonly CandidateRelationship[],
): DbrestFault {
  const choices = candidates
    .map((choice) => ({ ...choice, relationship: relationshipText(choice) }))
    .toSorted((a, b) => (a.relationship < b.relationship ? -1 : 1));
  const names = choices.map((choice) => `'${choice.target.name}!${hintOf(choice)}'`);
  return new DbrestFault({
    code: 'PGRST201',
    status: 300,
    reason: 'Multiple Choices',
    message: `Could not embed because more than one relationship was found for '${origin.name}' and '${target}'`,
    details: choices.map((choice) => ({
      cardinality: choice.cardinality,
      embedding: `${choice.origin.name} with ${choice.target.name}`,
      relationship: choice.relationship,
    })),
    hint: `Try changing '${target}' to one of the following: ${names.join(', ')}. Find the desired relationship in the 'details' key.`,
  });
}

/** For a self-relationship the table of the junction is not enough: its foreign key shows the direction. */
function hintOf({ origin, target, constraint, junction }: CandidateRelationship): string {
  if (!junction) return constraint;
  return origin.name === target.name ? junction.constraint : junction.table.name;
}

function relationshipText({ origin, target, constraint, pairs, junction }: CandidateRelationship): string {
  const columns = (list: Pairs, side: 0 | 1): string => list.map((pair) => pair[side]).join(', ');
  if (!junction)
    return `${constraint} using ${origin.name}(${columns(pairs, 0)}) and ${target.name}(${columns(pairs, 1)})`;
  const keys = `${constraint}(${columns(pairs, 1)}) and ${junction.constraint}(${columns(junction.pairs, 0)})`;
  return `${junction.table.name} using ${keys}`;
}

/** The function that a request asks for. */
interface FunctionLookup {
  readonly schema: string;
  readonly name: string;
  /** Names of the given arguments. */
  readonly given: readonly string[];
  /** The type of a body that can only be passed as a single unnamed argument. */
  readonly whole?: 'text' | 'xml' | 'bytea' | undefined;
  /** A JSON body, which could also be passed as a single unnamed argument. */
  readonly isJson: boolean;
}

/** PGRST101, 405. */
export function notCallable(method: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST101',
    status: 405,
    message: `Cannot use the ${method} method on RPC`,
    headers: ['Allow', 'OPTIONS, GET, HEAD, QUERY, POST'],
  });
}

/** PGRST202, 404. `hint` names a similar function. */
export function noFunction(
  { schema, name, given, whole, isJson }: FunctionLookup,
  hint: string | null,
): DbrestFault {
  const names = given.toSorted().join(', ');
  const sought = `${schema}.${name}`;
  const shown = whole ? '' : given.length === 0 ? ' without parameters' : `(${names})`;
  const by =
    given.length === 0 ? ' without parameters' : ` with parameter${given.length > 1 ? 's' : ''} ${names}`;
  const looked = whole
    ? ` with a single unnamed ${whole} parameter`
    : `${by}${isJson ? ' or with a single unnamed json/jsonb parameter' : ''}`;
  return new DbrestFault({
    code: 'PGRST202',
    status: 404,
    message: `Could not find the function ${sought}${shown} in the schema cache`,
    details: `Searched for the function ${sought}${looked}, but no matches were found in the schema cache.`,
    hint,
  });
}

interface Overload {
  readonly schema: string;
  readonly name: string;
  readonly arguments: readonly { readonly name: string; readonly type: string }[];
}

/** PGRST203, 300. The candidates stand in the order of their arguments: fewer first, then by type. */
export function ambiguousFunction(overloads: readonly Overload[]): DbrestFault {
  const types = ({ arguments: list }: Overload): string => list.map(({ type }) => type).join();
  const ordered = overloads.toSorted((a, b) => {
    return a.arguments.length - b.arguments.length || (types(a) < types(b) ? -1 : 1);
  });
  const shown = ordered.map(({ schema, name, arguments: list }) => {
    return `${schema}.${name}(${list.map((one) => `${one.name} => ${one.type}`).join(', ')})`;
  });
  return new DbrestFault({
    code: 'PGRST203',
    status: 300,
    message: `Could not choose the best candidate function between: ${shown.join(', ')}`,
    hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
  });
}

/** PGRST128, 400. */
export function noSet(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST128',
    status: 400,
    message: 'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
  });
}
