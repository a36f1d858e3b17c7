import { DbrestFault } from './dbrest-fault.ts';

interface Name {
  readonly schema: string;
  readonly name: string;
}
type Pairs = readonly (readonly [from: string, to: string])[];

/** What an ambiguous embed could mean. */
export interface Choice {
  readonly cardinality: string;
  readonly origin: Name;
  readonly target: Name;
  readonly constraint: string;
  readonly pairs: Pairs;
  readonly junction?: { readonly table: Name; readonly constraint: string; readonly pairs: Pairs };
}

interface Asked {
  readonly target: string;
  readonly hint?: string;
}

/** PGRST108, 400: a filter, order or limit on something that `select` does not embed. */
export function notEmbedded(name: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST108',
    status: 400,
    message: `'${name}' is not an embedded resource in this request`,
    hint: `Verify that '${name}' is included in the 'select' query parameter.`,
  });
}

/** PGRST118, 400: an order by rows of which there may be many. */
export function noRelatedOrder(origin: string, target: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST118',
    status: 400,
    message: `A related order on '${target}' is not possible`,
    details: `'${origin}' and '${target}' do not form a many-to-one or one-to-one relationship`,
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

/** PGRST127, 400: an aggregate over the arrays that a spread makes of many rows. */
export function toManyAggregate(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
  });
}

/** PGRST200, 400. `similar`: a name that was perhaps meant, and the one in its place. */
export function noRelationship(
  { target, hint }: Asked,
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

/** PGRST201, 300, with all that could be meant. */
export function ambiguousRelationship(
  { target }: Asked,
  origin: Name,
  choices: readonly Choice[],
): DbrestFault {
  const names = choices.map((choice) => `'${choice.target.name}!${hintOf(choice)}'`);
  return new DbrestFault({
    code: 'PGRST201',
    status: 300,
    reason: 'Multiple Choices',
    message: `Could not embed because more than one relationship was found for '${origin.name}' and '${target}'`,
    details: choices.map((choice) => ({
      cardinality: choice.cardinality,
      embedding: `${choice.origin.name} with ${choice.target.name}`,
      relationship: relationshipText(choice),
    })),
    hint: `Try changing '${target}' to one of the following: ${names.join(', ')}. Find the desired relationship in the 'details' key.`,
  });
}

/** Between rows of one table the junction says nothing of the direction, the key that points to the others does. */
function hintOf({ origin, target, constraint, junction }: Choice): string {
  if (!junction) return constraint;
  return origin.name === target.name ? junction.constraint : junction.table.name;
}

function relationshipText({ origin, target, constraint, pairs, junction }: Choice): string {
  const columns = (list: Pairs, side: 0 | 1): string => list.map((pair) => pair[side]).join(', ');
  if (!junction)
    return `${constraint} using ${origin.name}(${columns(pairs, 0)}) and ${target.name}(${columns(pairs, 1)})`;
  const keys = `${constraint}(${columns(pairs, 1)}) and ${junction.constraint}(${columns(junction.pairs, 0)})`;
  return `${junction.table.name} using ${keys}`;
}
