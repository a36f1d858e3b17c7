import { JS } from 'refa';
import { analyse } from 'scslre';
import {
  type AST,
  type ReadRegex,
  RegExpParser,
  type TranslatedRegex,
  translatePcre,
  visitRegExpAST,
} from '../../config/index.ts';
import { AutomatonLanguage, automatonOf } from './automaton.ts';
import type { Language } from './machine.ts';
import { elementsText, fixedStart, type Sample, sampleOf } from './syntax.ts';

/** A pattern of the configuration, with what can be known of it; each thing is worked out when it is asked for. */
export class Pattern {
  /** As the configuration has it. */
  readonly text: string;
  readonly caseless: boolean;
  /** As JavaScript has it, for `new RegExp` without flags. */
  readonly source: string;
  readonly #mayBuild: () => boolean;
  #translated: TranslatedRegex | undefined;
  #regex: RegExp | undefined;
  #ast: AST.Pattern | undefined;
  #language: { readonly known: Language | undefined } | undefined;
  #groups: readonly AST.CapturingGroup[] | undefined;
  readonly #groupLanguages = new Map<number, Language | undefined>();

  constructor({ text, caseless, source, mayBuild }: PatternFacts) {
    this.text = text;
    this.caseless = caseless;
    this.source = source;
    this.#mayBuild = mayBuild;
  }

  /** What the translation has found out on the way. */
  get translated(): TranslatedRegex {
    const { text, caseless } = this;
    return (this.#translated ??= translatePcre(text, { caseless }) as TranslatedRegex);
  }

  get regex(): RegExp {
    return (this.#regex ??= new RegExp(this.source));
  }

  get ast(): AST.Pattern {
    return (this.#ast ??= new RegExpParser().parsePattern(this.source));
  }

  /** The texts in which it matches somewhere. `undefined`: it has look-arounds or back-references, or is too large. */
  get language(): Language | undefined {
    return (this.#language ??= { known: this.#findLanguage() }).known;
  }

  /** A short text that it matches, if one is easily found. */
  get sample(): Sample | undefined {
    const sample = sampleOf(this.ast);
    return sample && this.regex.test(sample.text) ? sample : undefined;
  }

  /** What every text that it matches begins with. */
  get start(): string {
    return fixedStart(this.ast);
  }

  /** How many capture groups there are. */
  get groupCount(): number {
    return this.translated.groups;
  }

  /** The number of a named group. */
  groupNumber(name: string): number | undefined {
    const index = this.#captures().findIndex((group) => group.name?.toLowerCase() === name.toLowerCase());
    return index < 0 ? undefined : index + 1;
  }

  /** What a group can hold, by its number; 0 is the whole match. `undefined` when that is not known. */
  group(number: number): Language | undefined {
    if (!this.#groupLanguages.has(number)) this.#groupLanguages.set(number, this.#findGroup(number));
    return this.#groupLanguages.get(number);
  }

  #findLanguage(): Language | undefined {
    const automaton = this.#mayBuild() ? automatonOf(this.#parser()) : undefined;
    const language = automaton && new AutomatonLanguage(automaton);
    // `$^` on an empty text is the one case in which the ends do not come in the order of the text.
    return language?.accepts(language.start) === this.regex.test('') ? language : undefined;
  }

  #findGroup(number: number): Language | undefined {
    const group = this.#captures()[number - 1];
    // A look-around beside the group would narrow what it holds.
    const automaton =
      group && this.language && this.#mayBuild() ? automatonOf(this.#parser(), group) : undefined;
    return automaton && new AutomatonLanguage(automaton);
  }

  #captures(): readonly AST.CapturingGroup[] {
    if (this.#groups) return this.#groups;
    const found: AST.CapturingGroup[] = [];
    visitRegExpAST(this.ast, { onCapturingGroupEnter: (group) => void found.push(group) });
    return (this.#groups = found);
  }

  #parser(): JS.Parser {
    const flags = new RegExpParser().parseFlags('');
    return JS.Parser.fromAst({ pattern: this.ast, flags });
  }
}

/** How many automata one check makes; patterns beyond that are not known. A millisecond each, and few need one. */
const MAX_AUTOMATA = 250;

interface PatternFacts {
  readonly text: string;
  readonly caseless: boolean;
  readonly source: string;
  /** Whether one more automaton may be made. */
  readonly mayBuild: () => boolean;
}

/** Each pattern once: what is known of it is not worked out again. */
export class Patterns {
  readonly #known = new Map<string, Pattern | undefined>();
  #automata = MAX_AUTOMATA;
  readonly #mayBuild = (): boolean => this.#automata-- > 0;

  /** `undefined` when the pattern does not load. */
  of(text: string, caseless: boolean): Pattern | undefined {
    return this.#once(text, caseless, () => {
      const translated = translatePcre(text, { caseless });
      return 'fault' in translated ? undefined : translated;
    });
  }

  /** A pattern that the load has translated. */
  read(regex: ReadRegex, caseless: boolean): Pattern {
    return this.#once(regex.pattern, caseless, () => regex) as Pattern;
  }

  #once(
    text: string,
    caseless: boolean,
    read: () => { readonly source: string } | undefined,
  ): Pattern | undefined {
    const key = `${caseless ? '*' : ' '}${text}`;
    if (!this.#known.has(key)) {
      const translated = read();
      this.#known.set(
        key,
        translated && new Pattern({ text, caseless, source: translated.source, mayBuild: this.#mayBuild }),
      );
    }
    return this.#known.get(key);
  }
}

/** How a pattern backtracks on a text that it does not match in the end. */
export interface Backtracking {
  readonly isExponential: boolean;
  /** How such a text begins. */
  readonly attack: string;
}

const REPEATED = 6;

/** The worst that is known of a pattern; `undefined` where it takes no more than linear time from one place. */
export function backtrackingOf({ ast }: Pattern): Backtracking | undefined {
  const flags = new RegExpParser().parseFlags('');
  // That a pattern without "^" is tried at every place is so of nearly all of them, and costs little.
  const { reports } = analyse({ pattern: ast, flags }, { reportTypes: { Move: false } });
  const worst = reports.find(({ exponential }) => exponential) ?? reports[0];
  if (!worst || worst.type === 'Move') return undefined;
  const quantifier = worst.type === 'Trade' ? worst.startQuant : worst.quant;
  const attack = `${textBefore(quantifier)}${worst.character.pick.repeat(REPEATED)}`;
  return { isExponential: worst.exponential, attack };
}

/** What a text may have in front of a part of the pattern. */
function textBefore(node: AST.Node | null): string {
  if (!node?.parent) return '';
  const { parent } = node;
  const outer = textBefore(parent);
  if (parent.type !== 'Alternative') return outer;
  const before = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element));
  return outer + (elementsText(before.filter(({ type }) => type !== 'Assertion')) ?? '');
}
