import type { AST } from '../../config/index.ts';
import { CharSet, DFA, NFA, TooManyNodesError } from 'refa';
import type { Concatenation, Element, Expression, JS, NoParent } from 'refa';

/** Stand for the two ends of a text, so that `^` and `$` are units like others; no text has these noncharacters. */
export const START = 0xfffe;
export const END = 0xffff;
const LAST_UNIT = 0xffff;

/** A pattern that needs more is too large to be judged. */
const MAX_NODES = 2_000;

const ALL = CharSet.all(LAST_UNIT);
const ENDS = CharSet.fromCharacters(LAST_UNIT, [START, END]);
const TEXT = ALL.without(ENDS);

/** An automaton, and how many ends of a text it may ask for. */
export interface Automaton {
  readonly dfa: DFA;
  readonly ends: number;
}

/** Raised where a pattern has what no automaton has. */
class Unknown extends Error {}

/** What a pattern matches somewhere in a text, or what exactly a part of it takes; `undefined` where that is not known. */
export function automatonOf(parser: JS.Parser, part?: AST.CapturingGroup): Automaton | undefined {
  const options = { assertions: 'unknown', backreferences: 'throw', maxNodes: MAX_NODES } as const;
  try {
    const { expression } = part ? parser.parseElement(part, options) : parser.parse(options);
    const reader = new EndsReader(part === undefined);
    const alternatives = reader.alternatives(expression);
    return { dfa: toDfa(part ? alternatives : anywhere(alternatives)), ends: reader.ends };
  } catch (error) {
    if (error instanceof Unknown || error instanceof TooManyNodesError || isBackreference(error))
      return undefined;
    throw error;
  }
}

// refa throws a plain Error for a back-reference that it cannot resolve.
function isBackreference(error: unknown): boolean {
  return error instanceof Error && /backreference/i.test(error.message);
}

type Alternatives = NoParent<Concatenation>[];

/** Copies an expression with units in the place of `^` and `$`, which no other set of characters has. */
class EndsReader {
  ends = 0;
  readonly #mayAsk: boolean;

  constructor(mayAsk: boolean) {
    this.#mayAsk = mayAsk;
  }

  alternatives({ alternatives }: Pick<Expression, 'alternatives'>): Alternatives {
    return alternatives.map(({ elements }) => ({
      type: 'Concatenation',
      elements: elements.map((element) => this.#element(element)),
    }));
  }

  #element(element: Element): NoParent<Element> {
    switch (element.type) {
      case 'CharacterClass':
        return { type: 'CharacterClass', characters: element.characters.without(ENDS) };
      case 'Alternation':
        return { type: 'Alternation', alternatives: this.alternatives(element) };
      case 'Quantifier':
        return this.#quantifier(element);
      case 'Unknown':
        return this.#end(element.id);
      case 'Assertion':
        throw new Unknown();
    }
  }

  #quantifier(element: Extract<Element, { type: 'Quantifier' }>): NoParent<Element> {
    const { min, max, lazy } = element;
    const before = this.ends;
    const alternatives = this.alternatives(element);
    // How many ends a repeated one asks for cannot be told.
    if (this.ends > before && max > 1) throw new Unknown();
    return { type: 'Quantifier', min, max, lazy, alternatives };
  }

  #end(id: string): NoParent<Element> {
    if (!this.#mayAsk || (id !== '^' && id !== '$')) throw new Unknown();
    this.ends += 1;
    return { type: 'CharacterClass', characters: CharSet.fromCharacter(LAST_UNIT, id === '^' ? START : END) };
  }
}

/** A match may stand anywhere; ends that it does not ask for are passed over. */
function anywhere(alternatives: Alternatives): Alternatives {
  const around = (): NoParent<Element> => ({
    type: 'Quantifier',
    min: 0,
    max: Infinity,
    lazy: false,
    alternatives: [{ type: 'Concatenation', elements: [{ type: 'CharacterClass', characters: ALL }] }],
  });
  return [{ type: 'Concatenation', elements: [around(), { type: 'Alternation', alternatives }, around()] }];
}

function toDfa(alternatives: Alternatives): DFA {
  const options = { maxCharacter: LAST_UNIT };
  const nfa = NFA.fromRegex(
    { type: 'Expression', alternatives },
    options,
    {},
    new NFA.LimitedNodeFactory(MAX_NODES),
  );
  return DFA.fromFA(nfa, new DFA.LimitedNodeFactory(MAX_NODES));
}

/** The first units of the ranges that a DFA tells apart. */
export function cutsOf(dfa: DFA): readonly number[] {
  const cuts = new Set([0]);
  for (const { out } of dfa.nodes()) for (const { min, max } of out.keys()) cuts.add(min).add(max + 1);
  for (const { min } of TEXT.ranges) cuts.add(min);
  return [...cuts].filter((cut) => cut <= LAST_UNIT).toSorted((a, b) => a - b);
}
