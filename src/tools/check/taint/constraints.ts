import type { DirectiveNode, RelatedPlace } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { type LocationMatch, matchOf } from '../../../contract/index.ts';
import { type Machine, not, type Patterns, type RegexUse } from '../regex/index.ts';

/** The site of a value. */
export interface Site {
  readonly block: BlockView;
  readonly node: DirectiveNode;
  /** In a `map`: the pattern of the line; `none` for a line without a pattern. */
  readonly matched?: RegexUse | 'none';
  /** Constraints on variables at the site itself, besides those of the enclosing blocks. */
  readonly known?: ReadonlyMap<string, readonly Machine[]>;
  /** Number of variables that have been followed. */
  readonly depth: number;
}

/** A variable or capture that a client controls. */
export interface ClientSource {
  /** The name in the configuration: `$uri`, `$1`. */
  readonly name: string;
  /** Its texts are the intersection of these. */
  readonly texts: readonly Machine[];
  /** For a capture: the sources of the matched text. */
  readonly within?: readonly ClientSource[] | undefined;
  /** The place where it enters, and the directives that pass it on. */
  readonly related: readonly RelatedPlace[];
}

/** A part of a value: literal text, or a source that a client controls. */
export type ValuePiece = string | ClientSource;

/** One possible form of a value. */
export type Alternative = readonly ValuePiece[];

/** Patterns of the texts that clients can give built-in variables. */
const DECODED_PATH = '^/[^\\x00]*$';
/** The request line as received, with special characters escaped. */
const RAW = '^[^\\x00-\\x20\\x7f]*$';
const RAW_PATH = '^/[^\\x00-\\x20\\x7f]*$';
const HEADER = '^[^\\x00-\\x1f\\x7f]*$';
/** nginx and gw refuse other characters in host names. */
const HOST = '^[^\\x00-\\x20/?#@\\x7f]*$';
const ANYTHING = '^[^\\x00]*$';

const NAMED: Readonly<Record<string, string>> = {
  uri: DECODED_PATH,
  document_uri: DECODED_PATH,
  request_filename: DECODED_PATH,
  request_uri: RAW_PATH,
  args: RAW,
  query_string: RAW,
  content_type: HEADER,
  host: HOST,
  http_host: HOST,
  request_body: ANYTHING,
};

const FAMILIES: Readonly<Record<string, string>> = { arg_: RAW, http_: HEADER, cookie_: HEADER };

/** A pattern of the texts that a client can give a built-in variable; `undefined` if clients do not control it. */
export function textsOfClient(variable: string): string | undefined {
  const family = Object.keys(FAMILIES).find((prefix) => variable.startsWith(prefix));
  return NAMED[variable] ?? (family === undefined ? undefined : FAMILIES[family]);
}

/** True for the variables of the decoded path. */
function isPath(variable: string): boolean {
  return NAMED[variable] === DECODED_PATH && variable !== 'request_filename';
}

const knownIfBlocks = new WeakMap<BlockView, readonly BlockView[]>();

/** The `if` blocks directly in a block, which are few among thousands of locations. */
export function ifBlocks(block: BlockView): readonly BlockView[] {
  const found = knownIfBlocks.get(block) ?? block.inner.filter(({ context }) => context.endsWith(' if'));
  knownIfBlocks.set(block, found);
  return found;
}

/** The patterns of a configuration by the block whose condition they are, and by directive. */
export class Conditions {
  readonly #byBlock = new Map<BlockView, RegexUse>();
  readonly #byNode = new Map<DirectiveNode, RegexUse>();

  constructor(uses: readonly RegexUse[]) {
    for (const use of uses) {
      if (use.kind === 'if' || use.kind === 'location') this.#byBlock.set(use.block, use);
      if (use.kind === 'rewrite' || use.kind === 'server_name') this.#byNode.set(use.node, use);
    }
  }

  of(block: BlockView): RegexUse | undefined {
    return this.#byBlock.get(block);
  }

  /** The pattern that `$1` refers to at a site; `undefined` if that depends on the request. */
  matchedAt({ block, node, matched }: Site): RegexUse | undefined {
    if (matched) return matched === 'none' ? undefined : matched;
    const own = this.#byNode.get(node);
    if (own) return own;
    let inside: DirectiveNode | undefined;
    for (const around of block.outward()) {
      if (this.#mayMatchBetween(around, inside)) return undefined;
      const condition = this.of(around);
      if (condition && !condition.negated) return condition;
      if (around.context === 'server') return this.#serverName(around);
      inside = around.node;
    }
    return undefined;
  }

  /** The patterns with named captures that are set at a site: those of enclosing blocks, and of rewrites beside it. */
  *around({ block, node, matched }: Site): Generator<RegexUse> {
    if (matched && matched !== 'none') yield matched;
    const own = this.#byNode.get(node);
    if (own) yield own;
    for (const around of block.outward()) {
      const condition = this.of(around);
      if (condition && !condition.negated) yield condition;
      // Looked up by name, which is indexed: a server may have thousands of directives.
      for (const directive of [...around.own('rewrite'), ...around.own('server_name')]) {
        const use = this.#byNode.get(directive);
        if (use) yield use;
      }
    }
  }

  /** Returns whether another pattern in a block may have matched before the directives inside it. */
  #mayMatchBetween(block: BlockView, inside: DirectiveNode | undefined): boolean {
    const others = ifBlocks(block).filter((inner) => inner.node !== inside && this.#byBlock.has(inner));
    return others.length > 0 || block.own('rewrite').length > 0;
  }

  #serverName(server: BlockView): RegexUse | undefined {
    const uses = server.own('server_name').flatMap((node) => this.#byNode.get(node) ?? []);
    return uses.length === 1 && server.own('server_name').length === 1 ? uses[0] : undefined;
  }
}

/** The constraints that enclosing blocks put on variables. */
export class Constraints {
  readonly #patterns: Patterns;
  readonly #conditions: Conditions;

  constructor(patterns: Patterns, conditions: Conditions) {
    this.#patterns = patterns;
    this.#conditions = conditions;
  }

  /** The constraints on a variable at a site; `undefined` if one of them is not known. */
  on(variable: string, { block, known }: Site): readonly Machine[] | undefined {
    const machines: Machine[] = [...(known?.get(variable) ?? [])];
    for (const around of block.outward()) {
      const own = [...this.#ofBlock(variable, around), ...this.#ofGuards(variable, around, block)];
      for (const machine of own) {
        if (!machine) return undefined;
        machines.push(machine);
      }
    }
    return machines;
  }

  /** The language of exactly one text. */
  exactly(text: string): Machine | undefined {
    return this.#patterns.of(`\\A\\Q${text.replaceAll('\\E', '')}\\E\\z`, false)?.language;
  }

  #ofBlock(variable: string, block: BlockView): (Machine | undefined)[] {
    const condition = this.#conditions.of(block);
    if (block.context === 'location') {
      // Internal locations receive only redirected requests, whose path is not known.
      if (block.own('internal').length > 0) return [undefined];
      return isPath(variable) ? this.#ofLocation(matchOf(block), condition) : [];
    }
    if (condition?.subject !== undefined && isSame(condition.subject, variable))
      return [machineOf(condition, condition.negated !== true)];
    const equal = /^\(?\$\{?(\w+)\}?$/.exec(block.node?.args[0]?.value ?? '');
    const [, operator, operand] = block.node?.args ?? [];
    if (equal?.[1]?.toLowerCase() !== variable || operator?.value !== '=' || !operand) return [];
    return [operand.value.includes('$') ? undefined : this.exactly(operand.value.replace(/\)$/, ''))];
  }

  #ofLocation(match: LocationMatch | undefined, condition: RegexUse | undefined): (Machine | undefined)[] {
    if (match?.kind === 'exact') return [this.exactly(match.path)];
    return match?.kind === 'regex' ? [condition?.pattern.language] : [];
  }

  /** The constraints from `if ($x ~ …) { return 403; }` beside or above the site: other requests do not match. */
  #ofGuards(variable: string, around: BlockView, place: BlockView): (Machine | undefined)[] {
    const ways = [...place.outward()];
    return ifBlocks(around).flatMap((inner) => {
      const condition = this.#conditions.of(inner);
      if (!condition || ways.includes(inner)) return [];
      if (inner.own('return').length === 0) return [];
      if (isPath(variable) && refusesEscapes(condition))
        return [this.#patterns.of('^[^\\n\\r]*\\z', false)?.language];
      if (condition.subject === undefined || !isSame(condition.subject, variable)) return [];
      return [machineOf(condition, condition.negated === true)];
    });
  }
}

/** True for a condition that refuses escaped line breaks, so that the path contains none. */
function refusesEscapes({ subject, negated, pattern }: RegexUse): boolean {
  const escapes = ['/%0a', '/%0A'];
  return subject === 'request_uri' && !negated && escapes.every((uri) => pattern.regex.test(uri));
}

/** Returns whether two variables are the same; the names of the path are. */
function isSame(subject: string, variable: string): boolean {
  return subject === variable || (isPath(subject) && isPath(variable));
}

function machineOf({ pattern }: RegexUse, isMatched: boolean): Machine | undefined {
  const { language } = pattern;
  return language && (isMatched ? language : not(language));
}
