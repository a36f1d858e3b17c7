import { ControlFault } from './fault.ts';

/** Parameters of a request by name, percent-decoded; `+` is no blank, and of a repeated one the last counts. */
export type Query = ReadonlyMap<string, string>;

/** Throws a `ControlFault` (400) for what is not valid percent-encoded UTF-8. */
export function readQuery(args: string): Query {
  if (args === '') return new Map();
  try {
    return new Map(args.split('&').map(readPair));
  } catch {
    throw new ControlFault(400, 'the query is not valid percent-encoded UTF-8');
  }
}

function readPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=');
  if (equals < 0) return [decodeURIComponent(pair), ''];
  return [decodeURIComponent(pair.slice(0, equals)), decodeURIComponent(pair.slice(equals + 1))];
}

/** The value of a parameter that must be there. Throws a `ControlFault` (400) when it is missing or empty. */
export function required(query: Query, name: string): string {
  const value = query.get(name);
  if (value === undefined || value === '')
    throw new ControlFault(400, `missing required query param: ${name}`);
  return value;
}
