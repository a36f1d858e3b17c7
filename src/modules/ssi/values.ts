import { translatePcre } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { compileRegex, type Exchange, type Getter, stateKey } from '../../http/index.ts';

/** Thrown for a command that cannot be carried out; the message is for the error log. */
export class SsiFault extends Error {}

/** The values that the pages of one request share, included pages too. */
interface SharedValues {
  /** Set by the `set` command and by `include … set`; texts are Latin-1. */
  readonly variables: Map<string, string>;
  /** The contents of `block` commands. */
  readonly blocks: Map<string, string>;
  /** The captures of the last regular expression that matched. */
  captures: readonly (string | undefined)[];
}

const SHARED = stateKey<SharedValues>('SSI');

/** Returns the values that the pages of the client's request share. */
export function sharedOf({ main }: Exchange): SharedValues {
  const known = main.state(SHARED);
  if (known) return known;
  const shared: SharedValues = { variables: new Map(), blocks: new Map(), captures: [] };
  main.setState(SHARED, shared);
  return shared;
}

/** Returns the bytes of a text as a Latin-1 text. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
/** Returns the text of bytes in UTF-8. */
export const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

/** Maximum number of compiled names, and of compiled patterns. */
const MAX_COMPILED = 1_000;

/** Reads the variables of pages, whose names are known only when a page is served. */
export class PageVariables {
  readonly #build: Build;
  readonly #getters = new Map<string, Getter>();

  constructor(build: Build) {
    this.#build = build;
    build.needAllHeaders();
    build.needPeer();
  }

  /** Returns the value as Latin-1; `undefined` if the variable does not exist or has no value. */
  get(x: Exchange, name: string): string | undefined {
    const { variables, captures } = sharedOf(x);
    if (/^\d$/.test(name)) return captures[Number(name)];
    const own = variables.get(name);
    if (own !== undefined) return own;
    const value = this.#getter(name)(x);
    return value === undefined ? undefined : bytesOf(value);
  }

  #getter(name: string): Getter {
    const known = this.#getters.get(name);
    if (known) return known;
    let getter: Getter = () => undefined;
    try {
      getter = this.#build.variable(name);
    } catch {
      // A page may name variables that do not exist.
    }
    if (this.#getters.size < MAX_COMPILED) this.#getters.set(name, getter);
    return getter;
  }
}

/** A backslash and the character after it, or `$name`, `${name}`. */
const REFERENCE = /\\[^]|\$(?:\{\w*\}|\w*)/g;

/** Puts the values of variables into a text and resolves its backslashes (nginx ngx_http_ssi_evaluate_string). */
export function evaluate(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replaceAll(REFERENCE, (part) => {
    const name = /^\$\{?(\w*)/.exec(part)?.[1];
    if (name === undefined) return /^\\[\\'"$]/.test(part) ? part.slice(1) : part;
    if (name === '') throw new SsiFault(`invalid variable name in "${text}"`);
    return valueOf(name.toLowerCase()) ?? '';
  });
}

/** `$a`, `$a = text`, `$a != text`, `$a = /regex/`. */
const EXPRESSION = /^ *([\w${}"']*) *(?:(!?=) *([^]*))?$/;

const patterns = new Map<string, ReturnType<typeof compileRegex>>();

/** Evaluates the expression of `if` and `elif`; a match of a regular expression sets the captures of the request. */
export function holds(
  expression: string,
  x: Exchange,
  valueOf: (name: string) => string | undefined,
): boolean {
  const [, left = '', operator, right = ''] = EXPRESSION.exec(expression) ?? [];
  if (left === '' && operator === undefined) throw new SsiFault(`invalid expression in "${expression}"`);
  const given = evaluate(left.toLowerCase(), valueOf);
  if (operator === undefined) return given !== '';
  const isEqual =
    right.startsWith('/') && right.length > 1
      ? matches(right, given, { x, valueOf })
      : given === evaluate(right.replace(/^\\\//, '/'), valueOf);
  return isEqual === (operator === '=');
}

interface MatchContext {
  readonly x: Exchange;
  readonly valueOf: (name: string) => string | undefined;
}

function matches(right: string, given: string, { x, valueOf }: MatchContext): boolean {
  if (!right.endsWith('/')) throw new SsiFault(`invalid expression in "${right}"`);
  // A `$` without a variable name means the end of the text; nginx refuses it.
  const pattern = right
    .slice(1, -1)
    .replaceAll(
      /\$(?:\{(\w+)\}|([a-z_]\w*))/gi,
      (_, bracketed?: string, plain?: string) => valueOf((bracketed ?? plain ?? '').toLowerCase()) ?? '',
    );
  const found = patternOf(pattern).exec(given);
  if (!found) return false;
  const shared = sharedOf(x);
  shared.captures = [...found];
  for (const [name, value] of Object.entries(found.groups ?? {}))
    shared.variables.set(name.toLowerCase(), value ?? '');
  return true;
}

/** Compiles a pattern of a page. It is translated and bounded like a pattern of the configuration. */
function patternOf(pattern: string): ReturnType<typeof compileRegex> {
  const known = patterns.get(pattern);
  if (known) return known;
  const translated = translatePcre(pattern, { caseless: false });
  if ('fault' in translated) throw new SsiFault(`${translated.fault} in "${pattern}"`);
  const compiled = compileRegex({ pattern, ...translated });
  if (patterns.size < MAX_COMPILED) patterns.set(pattern, compiled);
  return compiled;
}
