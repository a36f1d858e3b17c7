import type { CatalogueEntries } from './catalogue-entries.ts';
import { durationMs } from './duration.ts';
import type { Relations } from './relation.ts';
import type { MediaHandler, Returned, StoredFunction } from './types.ts';

const VOLATILITY = { v: 'volatile', s: 'stable', i: 'immutable' } as const;

/** What its own entry says of it. */
export function storedFunctionOf(entry: CatalogueEntries['function'], relations: Relations): StoredFunction {
  const [schema, name, kind, volatility, returnsSet, , , , mediaType, ...rest] = entry;
  const [ins, defaults, isVariadic, timeout, grantees, comment] = rest;
  const timeoutMs = timeout === null ? undefined : durationMs(timeout);
  return {
    schema,
    name,
    isProcedure: kind === 'p',
    arguments: ins.map(([argument, type], i) => ({
      name: argument,
      type,
      required: i < ins.length - defaults,
      variadic: isVariadic && i === ins.length - 1,
    })),
    returns: returnedOf(entry, relations),
    returnsSet,
    volatility: VOLATILITY[volatility],
    ...(mediaType !== null && { mediaType }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    grantees,
    ...(comment !== null && { comment }),
  };
}

function returnedOf(entry: CatalogueEntries['function'], relations: Relations): Returned {
  const [, , , , , type, relation, columns] = entry;
  const table = relation === null ? undefined : relations.get(relation)?.name;
  if (table) return { kind: 'table', table };
  if (columns) return { kind: 'columns', columns: columns.map(([name, of]) => ({ name, type: of })) };
  return type === 'void' ? { kind: 'void' } : { kind: 'scalar', type };
}

/** What its own entry says of it. */
export function mediaHandlerOf(
  [schema, name, mediaType, argument]: CatalogueEntries['mediaHandler'],
  relations: Relations,
): MediaHandler {
  const table = argument === null ? undefined : relations.get(argument)?.name;
  return { schema, name, mediaType, ...(table && { table }) };
}
