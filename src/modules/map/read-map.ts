import { type DirectiveNode, partOfWord, type Word } from '../../../grammar/index.ts';
import { type ComplexValue, readers, type ReadRegex, readRegex, type ReadScope } from '../../config/index.ts';

/** Strings in lower case, and for each the index of its value. */
export interface KeyTable {
  readonly keys: readonly string[];
  readonly values: readonly number[];
}

/** One `map` block. */
export interface MapConfig {
  /** In lower case. */
  readonly variable: string;
  readonly source: ComplexValue;
  /** True: evaluated each time it is read; false: once per request. */
  readonly isVolatile: boolean;
  /** A trailing dot of the source is ignored. */
  readonly hostnames: boolean;
  readonly exact: KeyTable;
  /** `*.example.org` and `.example.org` as `example.org`. */
  readonly suffixes: KeyTable;
  /** `www.example.*` as `www.example`. */
  readonly prefixes: KeyTable;
  /** In file order. */
  readonly regexes: readonly { readonly regex: ReadRegex; readonly value: number }[];
  /** The value if nothing matches; absent: the empty string. */
  readonly fallback?: number;
  /** The distinct values of all entries. */
  readonly values: readonly ComplexValue[];
}

/** All `map` blocks. */
export interface MapsConfig {
  readonly maps?: readonly MapConfig[];
}

const CAPITAL = /[A-Z]/;
const CAPITALS = /[A-Z]+/g;

/** Converts to lower case as nginx does: ASCII letters only. */
export function lowerCase(text: string): string {
  // Nearly all texts are in lower case already, and the test takes a quarter of the time of a replacement.
  return CAPITAL.test(text) ? text.replace(CAPITALS, (letters) => letters.toLowerCase()) : text;
}

/** Reads the block `map string $variable { ... }` (nginx ngx_http_map_module#map). */
export function readMap({ args, block = [] }: DirectiveNode, scope: ReadScope): MapConfig | undefined {
  const [source, name] = args as [Word, Word];
  const variable = readers.readVariableName(name, scope);
  const reader = new MapReader(scope);
  for (const line of block) reader.line(line);
  return variable === undefined ? undefined : reader.finish(variable, scope.complexValue(source));
}

/** The entries of one kind. */
type Keys = Map<string, number>;

/** Reads the lines of one block. */
class MapReader {
  readonly #scope: ReadScope;
  readonly #exact: Keys = new Map();
  readonly #suffixes: Keys = new Map();
  readonly #prefixes: Keys = new Map();
  readonly #regexes: { regex: ReadRegex; value: number }[] = [];
  readonly #values: ComplexValue[] = [];
  /** The indexes of the values: many lines share few values. */
  readonly #known = new Map<string, number>();
  #fallback: number | undefined = undefined;
  #hostnames = false;
  #isVolatile = false;

  constructor(scope: ReadScope) {
    this.#scope = scope;
  }

  line({ name, args, block }: DirectiveNode): void {
    const { report } = this.#scope;
    const [written, ...more] = args;
    if (block) return report.emerg('unexpected "{"', name.span, { rule: 'unexpected-token' });
    if (!written && name.value === 'hostnames') this.#hostnames = true;
    else if (!written && name.value === 'volatile') this.#isVolatile = true;
    else if (!written || more.length > 0)
      report.emerg('invalid number of the map parameters', name.span, {
        rule: 'wrong-arity',
        hint: 'expected a string and its value',
      });
    else this.#entry(name, this.#value(written));
  }

  finish(variable: string, source: ComplexValue): MapConfig {
    return {
      variable,
      source,
      isVolatile: this.#isVolatile,
      hostnames: this.#hostnames,
      exact: tableOf(this.#exact),
      suffixes: tableOf(this.#suffixes),
      prefixes: tableOf(this.#prefixes),
      regexes: this.#regexes,
      ...(this.#fallback !== undefined && { fallback: this.#fallback }),
      values: this.#values,
    };
  }

  #value(word: Word): number {
    const key = word.literals.length === 0 ? word.value : undefined;
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const index = this.#values.push(this.#scope.complexValue(word)) - 1;
    if (key !== undefined) this.#known.set(key, index);
    return index;
  }

  #entry(word: Word, value: number): void {
    if (word.value === 'default') return this.#default(word, value);
    if (word.value.startsWith('~')) return this.#regex(word, value);
    const key = keyOf(word);
    if (this.#hostnames) this.#hostname(key, word, value);
    else this.#add(word, value, [[this.#exact, key]]);
  }

  #default({ span }: Word, value: number): void {
    if (this.#fallback === undefined) this.#fallback = value;
    else this.#scope.report.emerg('duplicate default map parameter', span, { rule: 'duplicate-directive' });
  }

  #regex(word: Word, value: number): void {
    const caseless = word.value.startsWith('~*');
    const regex = readRegex(partOfWord(word, caseless ? 2 : 1), { skip: 0, caseless }, this.#scope);
    if (regex) this.#regexes.push({ regex, value });
  }

  #hostname(key: string, word: Word, value: number): void {
    const isWildcard = key.startsWith('*.') || key.endsWith('.*');
    const stars = key.split('*').length - 1;
    if (key.includes('..') || stars > 1 || (stars === 1 && !(isWildcard && key.length > 2))) {
      this.#scope.report.emerg(`invalid hostname or wildcard "${key}"`, word.span);
    } else if (key.startsWith('.') && key.length > 1) {
      const name = key.slice(1);
      this.#add(word, value, [
        [this.#exact, name],
        [this.#suffixes, name],
      ]);
    } else if (key.startsWith('*.')) this.#add(word, value, [[this.#suffixes, key.slice(2)]]);
    else if (isWildcard) this.#add(word, value, [[this.#prefixes, key.slice(0, -2)]]);
    else this.#add(word, value, [[this.#exact, key]]);
  }

  #add(word: Word, value: number, places: readonly (readonly [Keys, string])[]): void {
    const isTaken = places.some(([keys, key]) => keys.has(key));
    if (isTaken) {
      const message = `conflicting parameter "${keyOf(word)}"`;
      return this.#scope.report.emerg(message, word.span, { rule: 'duplicate-directive' });
    }
    for (const [keys, key] of places) keys.set(key, value);
  }
}

/** Returns the key of an entry; a backslash escapes a word with a special meaning. */
function keyOf({ value }: Word): string {
  return lowerCase(value.startsWith('\\') ? value.slice(1) : value);
}

function tableOf(keys: Keys): KeyTable {
  return { keys: [...keys.keys()], values: [...keys.values()] };
}
