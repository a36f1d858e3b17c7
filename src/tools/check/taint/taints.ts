import {
  type DirectiveNode,
  type RelatedPlace,
  Report,
  type Span,
  splitValue,
  type ValuePart,
  type Word,
} from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Use } from '../../../contract/index.ts';
import { type Budget, type Machine, type Patterns, type RegexUse, shortestWord } from '../regex/index.ts';
import {
  type Alternative,
  Conditions,
  Constraints,
  ifBlocks,
  type ValuePiece,
  type Site,
  type ClientSource,
  textsOfClient,
} from './constraints.ts';

/** A possible value of a variable at a site, and its directive. */
interface Definition {
  readonly word: Word;
  readonly by: Use;
  /** In a `map`: the line. */
  readonly line?: DirectiveNode;
}

/** The directives of the rewrite module, which run in file order before all others. */
const STEPS: ReadonlySet<string> = new Set(['set', 'return', 'rewrite', 'if', 'break']);

/** Lines of a `map` without a value. */
const SETTINGS: ReadonlySet<string> = new Set(['hostnames', 'volatile', 'include']);

/** The directives that define the values of variables. */
class Definitions {
  readonly #maps = new Map<string, Use>();
  readonly #regexOfLine = new Map<DirectiveNode, RegexUse>();
  /** Variables whose values are literal texts of the operator. */
  readonly #fixed = new Set<string>();
  /** Variables that a `set` or `auth_request_set` assigns; for others the blocks need not be searched. */
  readonly #assigned: ReadonlySet<string>;

  constructor(config: CheckedConfig, regexes: readonly RegexUse[]) {
    for (const use of config.uses('map')) this.#maps.set(nameIn(use.node.args[1]), use);
    for (const { node } of config.uses('geo', 'split_clients')) this.#fixed.add(nameIn(node.args.at(-1)));
    this.#assigned = new Set(config.uses('set', 'auth_request_set').map(({ node }) => nameIn(node.args[0])));
    for (const use of regexes) if (use.line) this.#regexOfLine.set(use.line, use);
  }

  regexOf(line: DirectiveNode): RegexUse | undefined {
    return this.#regexOfLine.get(line);
  }

  /** The definitions of a variable at a site; `undefined` if there are none. */
  of(variable: string, site: Site): readonly Definition[] | undefined {
    if (this.#fixed.has(variable)) return [];
    const map = this.#maps.get(variable);
    if (map) return linesOf(map);
    if (!this.#assigned.has(variable)) return undefined;
    const found = [...setsOf(variable, site), ...subrequestSets(variable, site)];
    return found.length > 0 ? found : undefined;
  }
}

function linesOf(by: Use): readonly Definition[] {
  return (by.node.block ?? []).flatMap((line) => {
    const [word] = line.args;
    return !word || SETTINGS.has(line.name.value) ? [] : [{ word, by, line }];
  });
}

/** The `set` directives that may have assigned a variable: in each block the last one, and conditional ones. */
function* setsOf(variable: string, { block, node }: Site): Generator<Definition> {
  let before: DirectiveNode | undefined = STEPS.has(node.name.value) ? node : undefined;
  for (const around of block.outward()) {
    for (const inner of ifBlocks(around)) if (inner !== block) yield* allIn(inner, variable);
    const own = allIn(around, variable);
    const earlier = own.filter(({ by }) => !before || isBefore(by.node, before, around));
    const last = earlier.at(-1);
    if (last) return yield last;
    before = around.node && around.context.endsWith(' if') ? around.node : undefined;
  }
}

function allIn(block: BlockView, variable: string): readonly Definition[] {
  return block.own('set').flatMap((node) => {
    const [name, word] = node.args;
    return word && nameIn(name) === variable ? [{ word, by: { node, block } }] : [];
  });
}

function isBefore(one: DirectiveNode, other: DirectiveNode, block: BlockView): boolean {
  const all = block.own();
  return all.indexOf(one) < all.indexOf(other);
}

function subrequestSets(variable: string, { block }: Site): readonly Definition[] {
  return block.effective('auth_request_set').flatMap((node) => {
    const [name, word] = node.args;
    return word && nameIn(name) === variable ? [{ word, by: { node, block } }] : [];
  });
}

/** The variable in a word, in lower case. */
function nameIn(word: Word | undefined): string {
  return (word?.value ?? '').replace(/^\$\{?|\}$/g, '').toLowerCase();
}

/** Limits for following values: number of alternatives, and of variables in a chain. */
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 6;
const MAX_STATES = 200_000;

/** Finds the parts of values that clients control. */
export class Taints {
  readonly #patterns: Patterns;
  readonly #definitions: Definitions;
  readonly #conditions: Conditions;
  readonly #constraints: Constraints;
  readonly #common = new Map<Machine, Map<Machine, string | undefined>>();
  readonly #budget: Budget = { states: MAX_STATES };

  constructor(
    config: CheckedConfig,
    { patterns, regexes }: { patterns: Patterns; regexes: readonly RegexUse[] },
  ) {
    this.#patterns = patterns;
    this.#definitions = new Definitions(config, regexes);
    this.#conditions = new Conditions(regexes);
    this.#constraints = new Constraints(patterns, this.#conditions);
  }

  /** The possible forms of a word at its site; variables of the configuration are replaced by their definitions. */
  alternativesOf(word: Word, site: Omit<Site, 'depth'>): readonly Alternative[] {
    return this.#expand(word, { ...site, depth: 0 });
  }

  /** A text in `bad` that a client can give a source; `undefined` if none is proven. */
  badTextOf({ texts, within }: ClientSource, bad: Machine): string | undefined {
    const word = this.#commonText(texts, bad);
    if (word === undefined || !within) return word;
    const containing = this.#patterns.of(`\\Q${word.replaceAll('\\E', '')}\\E`, false)?.language;
    const isThere = containing && within.some((source) => this.badTextOf(source, containing) !== undefined);
    return isThere ? word : undefined;
  }

  /** Cached, because a variable alone has the same texts at ten thousand sites. */
  #commonText(texts: readonly Machine[], bad: Machine): string | undefined {
    const [only, ...more] = texts;
    if (!only || more.length > 0) return shortestWord([...texts, bad], this.#budget).word;
    const known = this.#common.get(bad) ?? new Map<Machine, string | undefined>();
    this.#common.set(bad, known);
    if (!known.has(only)) known.set(only, shortestWord([only, bad], this.#budget).word);
    return known.get(only);
  }

  #expand(word: Word, site: Site): readonly Alternative[] {
    let all: readonly Alternative[] = [[]];
    for (const part of splitValue(word, new Report())) {
      const added = this.#part(part, site);
      if (all.length * added.length > MAX_ALTERNATIVES) return [];
      all = all.flatMap((before) => added.map((more) => [...before, ...more]));
    }
    return all;
  }

  #part(part: ValuePart, site: Site): readonly Alternative[] {
    if ('text' in part) return [[part.text]];
    const place = { span: part.span, label: 'comes from the client' };
    if ('capture' in part) return [this.#capture(part.capture, site, place)];
    const name = part.variable.toLowerCase();
    const definitions = site.depth < MAX_DEPTH ? this.#definitions.of(name, site) : [];
    if (definitions) return this.#defined(name, definitions, site);
    return [this.#named(name, site, place) ?? this.#builtIn(name, site, place)];
  }

  #defined(name: string, definitions: readonly Definition[], site: Site): readonly Alternative[] {
    const all = definitions.flatMap(({ word, by, line }) => {
      const inside = this.#siteOf({ word, by, ...(line && { line }) }, site.depth + 1);
      const through = { span: word.span, label: `"$${name}" gets it here` };
      return this.#expand(word, inside).map((pieces) => pieces.map((piece) => passed(piece, through, name)));
    });
    return all.length > 0 ? all : [['']];
  }

  #siteOf({ by, line }: Definition, depth: number): Site {
    if (!line) return { ...by, depth };
    const use = this.#definitions.regexOf(line);
    const subject = nameIn(by.node.args[0]);
    const isDefault = line.name.value === 'default';
    const texts = use
      ? use.pattern.language
      : isDefault
        ? undefined
        : this.#constraints.exactly(line.name.value);
    const known = use || texts ? new Map([[subject, texts ? [texts] : [NOTHING]]]) : undefined;
    return { ...by, depth, matched: use ?? 'none', ...(known && { known }) };
  }

  #capture(number: number, site: Site, place: RelatedPlace): Alternative {
    const use = this.#conditions.matchedAt(site);
    // nginx and gw escape captures in values of the rewrite module if the path was escaped itself.
    const isEscaped = site.node.name.value === 'rewrite' || site.node.name.value === 'set';
    return this.#groupOf({ use, number, name: `$${number}`, isEscaped }, site, place);
  }

  #named(name: string, site: Site, place: RelatedPlace): Alternative | undefined {
    for (const use of this.#conditions.around(site)) {
      const number = use.pattern.groupNumber(name);
      if (number !== undefined)
        return this.#groupOf({ use, number, name: `$${name}`, isEscaped: false }, site, place);
    }
    return undefined;
  }

  #groupOf({ use, number, name, isEscaped }: Group, site: Site, place: RelatedPlace): Alternative {
    const language = use?.pattern.group(number);
    if (!use || !language || use.subject === undefined) return [''];
    const escaped = isEscaped ? this.#patterns.of('^[^\\x00-\\x1f]*$', false)?.language : undefined;
    const within = this.#subjectOf(use, site).filter((piece) => typeof piece !== 'string');
    const matched = { span: use.at, label: `"${name}" is what this matches` };
    const texts = escaped ? [language, escaped] : [language];
    return [{ name, texts, within, related: [matched, place] }];
  }

  /** The value that a pattern is matched against. */
  #subjectOf({ subject = '', block, node, kind }: RegexUse, { depth }: Site): Alternative {
    const inner = kind === 'if' ? (block.outer ?? block) : block;
    const site: Site = { block: inner, node, depth: depth + 1 };
    const part = { variable: subject, span: node.name.span };
    return depth < MAX_DEPTH ? this.#part(part, site).flat() : [];
  }

  #builtIn(name: string, site: Site, place: RelatedPlace): Alternative {
    const client = textsOfClient(name);
    const constraints = client === undefined ? undefined : this.#constraints.on(name, site);
    const texts = client === undefined ? undefined : this.#patterns.of(client, false)?.language;
    if (!texts || !constraints) return [''];
    return [{ name: `$${name}`, texts: [texts, ...constraints], related: [place] }];
  }
}

interface Group {
  readonly use: RegexUse | undefined;
  readonly number: number;
  readonly name: string;
  readonly isEscaped: boolean;
}

/** Accepts no text, so that nothing is claimed about unknown values. */
const NOTHING: Machine = { start: -1, cuts: [0], step: () => -1, accepts: () => false };

function isInside(inner: Span, outer: Span): boolean {
  return inner.source === outer.source && inner.start >= outer.start && inner.end <= outer.end;
}

function passed(piece: ValuePiece, through: RelatedPlace, name: string): ValuePiece {
  if (typeof piece === 'string' || piece.name === `$${name}`) return piece;
  return {
    ...piece,
    related: [through, ...piece.related.filter(({ span }) => !isInside(span, through.span))],
  };
}
