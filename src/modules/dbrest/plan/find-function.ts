import { ambiguousFunction, invalidJson, noFunction, unequalKeys } from '../fault/index.ts';
import type { CallInput } from '../request/index.ts';
import type { Argument, StoredFunction } from '../schema/index.ts';
import { mayUse, mostSimilar } from '../schema/index.ts';
import type { Context } from './context.ts';

/** The function that a call means, and how its input fills its arguments. */
export interface FoundFunction {
  readonly called: StoredFunction;
  /** The whole input is its one argument. */
  readonly takesAll: boolean;
}

const LEAST_SIMILARITY = 0.75;
const LEAST_SIMILARITY_OF_ARGUMENTS = 0.33;
/** A bound on the work that one unknown name causes. */
const MOST_CANDIDATES = 5_000;
const JSON_TYPES: readonly string[] = ['json', 'jsonb'];

/**
 * The overload whose arguments have the names that are given; else the one that takes the whole body. `asObject`: only one
 * whose single argument is JSON, whatever its name. Throws PGRST102, PGRST202 and PGRST203.
 */
export function findFunction(input: CallInput, asObject: boolean, context: Context): FoundFunction {
  const { known, schema, table: name } = context;
  const overloads = known.functions?.get(schema)?.get(name) ?? [];
  const callable = overloads.filter(({ isProcedure }) => !isProcedure);
  const given = namesOf(input);
  const named = asObject || !given ? [] : callable.filter((one) => isFilledBy(one, given));
  const whole = callable.filter((one) => takesWhole(one, input, asObject));
  // A value without any keys is rather the one argument itself.
  const takesAll = named.length === 0 || (!hasKeys(input) && whole.length > 0);
  const fitting = takesAll ? whole : named;
  // What the role may not call is neither in its way nor told to it.
  const usable = fitting.filter((one) => mayUse(context.role, one, known));
  if (usable.length > 1) throw ambiguousFunction(usable);
  const called = usable[0] ?? fitting[0];
  if (called) {
    if (takesAll && input.kind === 'json' && input.body.length === 0) throw invalidJson();
    return { called, takesAll };
  }
  if (!given && input.kind === 'json') throw unequalKeys();
  throw noFunction(
    {
      schema,
      name,
      given: given ?? [],
      whole: input.kind === 'whole' ? input.type : undefined,
      isJson: isJson(input),
    },
    input.kind === 'whole' ? null : hintOf(given ?? [], overloads, context),
  );
}

/** Names of what is given; absent where it can only be one argument, or where it has several sets of them. */
function namesOf(input: CallInput): readonly string[] | undefined {
  switch (input.kind) {
    case 'texts':
      return [...input.texts.keys()];
    case 'json':
      return input.keys ?? (input.isArray ? undefined : []);
    case 'whole':
      return undefined;
  }
}

function isJson(input: CallInput): boolean {
  return input.kind === 'json' && input.from === 'json';
}

function hasKeys(input: CallInput): boolean {
  return input.kind !== 'json' || input.keys !== undefined;
}

function isFilledBy({ arguments: list }: StoredFunction, given: readonly string[]): boolean {
  const isGiven = ({ name, required }: Argument): boolean => !required || given.includes(name);
  return list.every(isGiven) && given.every((name) => name !== '' && list.some((one) => one.name === name));
}

function takesWhole({ arguments: list }: StoredFunction, input: CallInput, asObject: boolean): boolean {
  const [only] = list;
  if (!only || list.length > 1) return false;
  if (asObject) return input.kind !== 'whole' && JSON_TYPES.includes(only.type);
  return only.name === '' && wholeTypes(input).includes(only.type);
}

/** Types of the one argument that could take the input. */
function wholeTypes(input: CallInput): readonly string[] {
  if (input.kind === 'whole') return [input.type];
  return isJson(input) ? JSON_TYPES : [];
}

/** What was perhaps meant, of the functions that the role may call: other arguments, or another name. */
function hintOf(
  given: readonly string[],
  overloads: readonly StoredFunction[],
  { known, role, schema, table: name }: Context,
): string | null {
  const mine = overloads.filter((one) => mayUse(role, one, known));
  const perhaps = (what: string | undefined): string | null => {
    return what === undefined ? null : `Perhaps you meant to call the function ${schema}.${what}`;
  };
  if (mine.some(({ isProcedure }) => isProcedure)) {
    return `${schema}.${name} is a procedure, and only functions can be called`;
  }
  if (mine.length > 0) {
    const lists = mine.map(({ arguments: list }) => listed(list.map((one) => one.name)));
    const list = mostSimilar(listed(given), lists, LEAST_SIMILARITY_OF_ARGUMENTS);
    return perhaps(list && `${name}${list}`);
  }
  const siblings = [...(known.functions?.get(schema)?.values() ?? [])].slice(0, MOST_CANDIDATES);
  const names = siblings.flatMap((list) => {
    return list.find((one) => !one.isProcedure && mayUse(role, one, known))?.name ?? [];
  });
  return perhaps(mostSimilar(name, names, LEAST_SIMILARITY));
}

function listed(names: readonly string[]): string {
  return `(${names.toSorted().join(', ')})`;
}
