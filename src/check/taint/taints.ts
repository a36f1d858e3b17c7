import { Report, splitValue } from '../../../grammar/index.ts';
import type { RelatedPlace, Span, ValuePart, Word } from '../../../grammar/index.ts';
import { shortestWord } from '../regex/index.ts';
import type { Budget, Machine, Patterns, RegexUse } from '../regex/index.ts';
import type { CheckedConfig } from '../rule.ts';
import { textsOfClient } from './built-in.ts';
import { Constraints } from './constraints.ts';
import { Definitions, nameIn } from './definitions.ts';
import type { Definition } from './definitions.ts';
import { Conditions } from './matched.ts';
import type { Alternative, Piece, Site, Source } from './site.ts';

/** Values that have more alternatives, or go through more variables, are not followed. */
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 6;
const MAX_STATES = 200_000;

/** What clients can put into the values of a configuration. */
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

  /** What a word may become at its place: variables that the configuration fills are followed to what they are made of. */
  alternativesOf(word: Word, site: Omit<Site, 'depth'>): readonly Alternative[] {
    return this.#expand(word, { ...site, depth: 0 });
  }

  /** A text of `bad` that a client can make of a source; `undefined`: none that is proven. */
  badTextOf({ texts, within }: Source, bad: Machine): string | undefined {
    const word = this.#commonText(texts, bad);
    if (word === undefined || !within) return word;
    const containing = this.#patterns.of(`\\Q${word.replaceAll('\\E', '')}\\E`, false)?.language;
    const isThere = containing && within.some((source) => this.badTextOf(source, containing) !== undefined);
    return isThere ? word : undefined;
  }

  /** What clients can do with a variable alone is the same in ten thousand places. */
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
    // nginx and gw escape captures in what the rewrite module makes of a path that was escaped itself.
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

  /** What a pattern is matched on. */
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

/** Accepts no text: what is not known is not claimed. */
const NOTHING: Machine = { start: -1, cuts: [0], step: () => -1, accepts: () => false };

function isInside(inner: Span, outer: Span): boolean {
  return inner.source === outer.source && inner.start >= outer.start && inner.end <= outer.end;
}

function passed(piece: Piece, through: RelatedPlace, name: string): Piece {
  if (typeof piece === 'string' || piece.name === `$${name}`) return piece;
  return {
    ...piece,
    related: [through, ...piece.related.filter(({ span }) => !isInside(span, through.span))],
  };
}
