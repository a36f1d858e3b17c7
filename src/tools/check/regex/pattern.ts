import { JS } from 'refa';
import { analyse } from 'scslre';
import {
  type AST,
  type ReadRegex,
  RegExpParser,
  type TranslatedRegex,
  translatePcre,
  visitRegExpAST,
} from '../../../config/index.ts';
import { AutomatonLanguage, automatonOf } from './automaton.ts';
import type { Language } from './machine.ts';
import { elementsText, fixedStart, type Sample, sampleOf } from './syntax.ts';

/** A pattern of the configuration; each of its properties is computed on first use. */
export class Pattern {
  /** The pattern in the configuration. */
  readonly text: string;
  readonly caseless: boolean;
  /** The pattern for `new RegExp` without flags. */
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

  /** The result of the translation. */
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

  /** The texts in which it matches. `undefined` if it has look-arounds or back-references, or is too large. */
  get language(): Language | undefined {
    return (this.#language ??= { known: this.#findLanguage() }).known;
  }

  /** A short text that it probably matches, if one is easily found. */
  get sample(): Sample | undefined {
    const sample = sampleOf(this.ast);
    return sample && this.regex.test(sample.text) ? sample : undefined;
  }

  /** The beginning of every text that it matches. */
  get start(): string {
    return fixedStart(this.ast);
  }

  /** Number of capture groups. */
  get groupCount(): number {
    return this.translated.groups;
  }

  /** The number of a named group. */
  groupNumber(name: string): number | undefined {
    const index = this.#captures().findIndex((group) => group.name?.toLowerCase() === name.toLowerCase());
    return index < 0 ? undefined : index + 1;
  }

  /** The texts that a group can capture, by number; 0 is the whole match. `undefined` if they are not known. */
  group(number: number): Language | undefined {
    if (!this.#groupLanguages.has(number)) this.#groupLanguages.set(number, this.#findGroup(number));
    return this.#groupLanguages.get(number);
  }

  #findLanguage(): Language | undefined {
    const automaton = this.#mayBuild() ? automatonOf(this.#parser()) : undefined;
    const language = automaton && new AutomatonLanguage(automaton);
    // `$^` on an empty text is the only case in which the ends are out of order.
    return language?.accepts(language.start) === this.regex.test('') ? language : undefined;
  }

  #findGroup(number: number): Language | undefined {
    const group = this.#captures()[number - 1];
    // A look-around next to the group would restrict its texts.
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

/** Maximum number of automata of one check; each takes a millisecond. Further patterns are not analysed. */
const MAX_AUTOMATA = 250;

interface PatternFacts {
  readonly text: string;
  readonly caseless: boolean;
  readonly source: string;
  /** Returns whether another automaton may be built. */
  readonly mayBuild: () => boolean;
}

/** The patterns of a check, each analysed once. */
export class Patterns {
  readonly #known = new Map<string, Pattern | undefined>();
  #automata = MAX_AUTOMATA;
  readonly #mayBuild = (): boolean => this.#automata-- > 0;

  /** The pattern of a text; `undefined` if it is invalid. */
  of(text: string, caseless: boolean): Pattern | undefined {
    return this.#once(text, caseless, () => {
      const translated = translatePcre(text, { caseless });
      return 'fault' in translated ? undefined : translated;
    });
  }

  /** The pattern that the load has translated. */
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

/** The backtracking of a pattern on a text that finally does not match. */
interface Backtracking {
  readonly isExponential: boolean;
  /** The beginning of such a text. */
  readonly attack: string;
}

const REPEATED = 6;

/** The worst known backtracking of a pattern; `undefined` if it takes linear time from each offset. */
export function backtrackingOf({ ast }: Pattern): Backtracking | undefined {
  const flags = new RegExpParser().parseFlags('');
  // A pattern without "^" is tried at every offset; that applies to nearly all patterns and costs little.
  const { reports } = analyse({ pattern: ast, flags }, { reportTypes: { Move: false } });
  const worst = reports.find(({ exponential }) => exponential) ?? reports[0];
  if (!worst || worst.type === 'Move') return undefined;
  const quantifier = worst.type === 'Trade' ? worst.startQuant : worst.quant;
  const attack = `${textBefore(quantifier)}${worst.character.pick.repeat(REPEATED)}`;
  return { isExponential: worst.exponential, attack };
}

/** A text that can precede a part of the pattern. */
function textBefore(node: AST.Node | null): string {
  if (!node?.parent) return '';
  const { parent } = node;
  const outer = textBefore(parent);
  if (parent.type !== 'Alternative') return outer;
  const before = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element));
  return outer + (elementsText(before.filter(({ type }) => type !== 'Assertion')) ?? '');
}
