import { DbrestFault } from './dbrest-fault.ts';

/** A function by its schema and name, as a request looked for it. */
export interface SoughtFunction {
  readonly schema: string;
  readonly name: string;
  /** Names of the arguments that it was given. */
  readonly given: readonly string[];
  /** A body that can only be the one argument of a function: of which type. */
  readonly whole?: 'text' | 'xml' | 'bytea' | undefined;
  /** A JSON body: it could be the one argument as well. */
  readonly isJson: boolean;
}

/** PGRST101, 405. */
export function notCallable(method: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST101',
    status: 405,
    message: `Cannot use the ${method} method on RPC`,
    headers: ['Allow', 'OPTIONS, GET, HEAD, POST'],
  });
}

/** PGRST202, 404. `hint`: what was perhaps meant. */
export function noFunction(
  { schema, name, given, whole, isJson }: SoughtFunction,
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

/** PGRST203, 300. */
export function ambiguousFunction(overloads: readonly Overload[]): DbrestFault {
  const shown = overloads.map(({ schema, name, arguments: list }) => {
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
