import { isDeepStrictEqual } from 'node:util';
import { type Paints, paintsFor, printable } from '../../../grammar/index.ts';
import type { ExplainedFact } from '../../contract/index.ts';
import type { Account, AccountRound, AccountStep, Candidate } from './account.ts';
import { statusText } from './response.ts';

/** Column at which texts begin, after the titles. */
const INDENT = 11;
/** Last column at which places may begin. In longer lines, the place follows after two blanks. */
const MOST_COLUMNS = 100;
/** Greatest width of the column with names of candidates. */
const MOST_NAME = 40;

/** Phases that have a title of their own. */
const TITLES: Readonly<Record<string, string>> = { preaccess: 'LIMITS', access: 'ACCESS' };

/** An account as text, each line with its place in the configuration at the right. */
export function printAccount(account: Account, { color }: { readonly color: boolean }): string {
  return new Printer(account, paintsFor(color)).print();
}

/** A line, its width without colours, and the place at its right. */
interface Line {
  readonly text: string;
  readonly width: number;
  readonly place: string;
}

type Paint = (text: string) => string;

interface LineOptions {
  readonly place?: string;
  readonly paint?: Paint;
}

const asIs: Paint = (text) => text;

class Printer {
  readonly #account: Account;
  readonly #c: Paints;
  readonly #lines: Line[] = [];
  #title = '';

  constructor(account: Account, colors: Paints) {
    this.#account = account;
    this.#c = colors;
  }

  print(): string {
    this.#request();
    this.#way();
    this.#rounds(this.#account.rounds);
    this.#effective();
    this.#answer();
    this.#branches();
    const widths = this.#lines.filter(({ place }) => place !== '').map(({ width }) => width + 2);
    const column = Math.max(0, ...widths.filter((width) => width <= MOST_COLUMNS));
    return this.#lines.map((line) => `${this.#joined(line, column)}\n`).join('');
  }

  #joined({ text, width, place }: Line, column: number): string {
    const gap = ' '.repeat(Math.max(2, column - width));
    return `${text}${place === '' ? '' : `${gap}${this.#c.dim(printable(place))}`}`.trimEnd();
  }

  #request(): void {
    const { method, url, from, headers } = this.#account.request;
    this.#add(`${this.#c.bold(`${method} ${printable(url)}`)}  ${this.#c.dim(`from ${from}`)}`);
    for (const [name, value] of headers) this.#add(this.#c.dim(`  ${printable(`${name}: ${value}`)}`));
  }

  #way(): void {
    const { port, server } = this.#account;
    if (port) this.#chosen('PORT', port.address, port);
    if (server) this.#chosen('SERVER', server.name === '' ? '(no name)' : server.name, server);
  }

  #chosen(
    title: string,
    name: string,
    {
      place,
      why,
      others,
    }: { readonly place: string; readonly why: string; readonly others: readonly Candidate[] },
  ): void {
    this.#blank();
    this.#line(title, name, { place, paint: this.#c.green });
    this.#line('', why, { paint: this.#c.dim });
    const width = nameWidth(others.map((other) => ({ ...other, depth: 0 })));
    for (const other of others) this.#candidate(other, { depth: 0, width });
  }

  #candidate(
    { text, place, chosen, why, through }: Candidate & { readonly through?: true },
    { depth, width }: { readonly depth: number; readonly width: number },
  ): void {
    const mark = chosen ? '✓' : through ? '↓' : '✗';
    const name = text.padEnd(width - 2 * depth);
    const plain = `${'  '.repeat(depth)}${mark} ${name}  ${why}`;
    this.#line('', plain, { place, paint: chosen ? this.#c.green : this.#c.dim });
  }

  /** Prints rounds. Repeated ones are only counted: a request in a loop has ten equal rounds. */
  #rounds(rounds: readonly AccountRound[]): void {
    let repeated = 0;
    for (const [index, round] of rounds.entries()) {
      const isLast = index === rounds.length - 1;
      if (!isLast && isDeepStrictEqual(round, rounds[index - 1])) {
        repeated++;
        continue;
      }
      if (repeated > 0) this.#note(`… and so on in ${repeated} more rounds`, this.#c.yellow);
      repeated = 0;
      this.#round(index, round, isLast);
    }
  }

  #round(index: number, { uri, steps }: AccountRound, isLast: boolean): void {
    if (uri !== '') {
      this.#blank();
      this.#line(`ROUND ${index + 1}`, uri, { paint: this.#c.bold });
    }
    // The last step is printed as the response.
    for (const step of steps)
      if (!isLast || step.kind !== 'phase' || step.phase !== 'content') this.#step(step);
  }

  #step(step: AccountStep): void {
    switch (step.kind) {
      case 'location':
        return this.#location(step);
      case 'directive':
        this.#line('', step.text, { place: step.place });
        this.#note(`→ ${step.outcome}${step.known.length > 0 ? `  (${step.known.join(', ')})` : ''}`);
        return undefined;
      case 'open':
        return this.#note(
          `? only a running gateway knows ${step.text}; taken here: ${step.assumed}`,
          this.#c.yellow,
        );
      case 'phase':
        return this.#phase(step);
      case 'jump':
        return this.#line('', `↪ ${step.text}`, { place: step.place, paint: this.#c.cyan });
      case 'log':
        return this.#note(`error log [${step.level}]: ${step.text}`, this.#c.dim);
    }
  }

  #location({ text, place, search }: Extract<AccountStep, { kind: 'location' }>): void {
    this.#line('LOCATION', text, { place, paint: this.#c.green });
    if (!search) return;
    const width = nameWidth(search.candidates);
    for (const candidate of search.candidates) this.#candidate(candidate, { depth: candidate.depth, width });
    if (search.unnamed > 0) this.#note(`and ${search.unnamed} more that do not fit`, this.#c.dim);
  }

  #phase({ phase, module, text, place, facts, unknown }: Extract<AccountStep, { kind: 'phase' }>): void {
    this.#line(TITLES[phase] ?? '', `${module}: ${text}`, { place });
    this.#facts(facts);
    this.#unknown(unknown);
  }

  #unknown(unknown: string | undefined): void {
    if (unknown !== undefined) this.#note(`? known only to a running gateway: ${unknown}`, this.#c.yellow);
  }

  #effective(): void {
    const { effective, replaced } = this.#account;
    if (effective.length + replaced.length === 0) return;
    this.#blank();
    let level = '';
    for (const [index, directive] of effective.entries()) {
      const title = index === 0 ? 'HOLDS' : '';
      if (directive.level !== level)
        this.#line(title, `${directive.inherited ? 'inherited from' : 'in'} ${directive.level}`, {
          paint: this.#c.dim,
        });
      level = directive.level;
      this.#line('', `  ${directive.text}`, { place: directive.place });
    }
    for (const [index, { text, place, level: outer, by }] of replaced.entries()) {
      if (index === 0) this.#line('DROPPED', 'replaced further in', { paint: this.#c.dim });
      this.#line('', `  ${text}`, { place, paint: this.#c.dim });
      this.#note(`  of ${outer}, because of ${by}`, this.#c.dim);
    }
  }

  #answer(): void {
    const { found, answer } = this.#account;
    this.#blank();
    const status = answer.status === undefined ? '' : `${statusText(answer.status)}  `;
    const paint = !found || (answer.status ?? 0) >= 400 ? this.#c.red : this.#c.green;
    this.#line(found ? 'ANSWER' : 'NOBODY', `${status}${answer.does}`, {
      place: answer.place,
      paint: (text) => this.#c.bold(paint(text)),
    });
    this.#facts(answer.facts);
    this.#unknown(answer.unknown);
  }

  #branches(): void {
    for (const { question, place, if: other, does } of this.#account.branches) {
      this.#blank();
      this.#line('OTHERWISE', `${question}: ${other}`, { place, paint: this.#c.yellow });
      this.#note(`→ ${does}`);
    }
  }

  #facts(facts: readonly ExplainedFact[]): void {
    const width = Math.max(0, ...facts.map(({ label }) => label.length));
    for (const [index, { label, value }] of facts.entries()) {
      const name = facts[index - 1]?.label === label ? '' : label;
      for (const [row, text] of value.split('\n').entries())
        this.#note(`${this.#c.cyan((row === 0 ? name : '').padEnd(width))}  ${printable(text)}`);
    }
  }

  #note(text: string, paint: Paint = asIs): void {
    this.#add(`${' '.repeat(INDENT + 2)}${paint(text)}`);
  }

  #blank(): void {
    this.#add('');
  }

  /** Prints a line; consecutive lines with the same title show it once. */
  #line(title: string, text: string, { place = '', paint = asIs }: LineOptions): void {
    const plain = printable(text);
    const start = this.#c.bold((title === this.#title ? '' : title).padEnd(INDENT));
    if (title !== '') this.#title = title;
    this.#lines.push({ text: `${start}${paint(plain)}`, width: INDENT + plain.length, place });
  }

  #add(text: string): void {
    this.#lines.push({ text, width: 0, place: '' });
  }
}

/** Width of the names in a list, so that reasons are aligned. */
function nameWidth(candidates: readonly { readonly text: string; readonly depth: number }[]): number {
  const widths = candidates.map(({ text, depth }) => printable(text).length + 2 * depth);
  return Math.max(0, ...widths.filter((width) => width <= MOST_NAME));
}
