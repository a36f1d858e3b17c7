import { paintsFor, printable } from '../../grammar/index.ts';
import type { Paints } from '../../grammar/index.ts';
import type { Fact } from '../contract/index.ts';
import { statusLine } from '../http/index.ts';
import type { Account, AccountStep, Candidate } from './account.ts';

/** Where titles end and texts begin. */
const INDENT = 11;
/** Places stand right of texts of up to so many columns; longer texts have theirs two blanks behind. */
const PLACES_AT = 78;

/** An account as people read it, each line with its place in the configuration at the right. */
export function printAccount(account: Account, { color }: { readonly color: boolean }): string {
  return new Printer(account, paintsFor(color)).print();
}

class Printer {
  readonly #account: Account;
  readonly #c: Paints;
  readonly #lines: string[] = [];

  constructor(account: Account, colors: Paints) {
    this.#account = account;
    this.#c = colors;
  }

  print(): string {
    this.#request();
    this.#way();
    for (const [index, { uri, steps }] of this.#account.rounds.entries()) this.#round(index, uri, steps);
    this.#effective();
    this.#answer();
    this.#branches();
    return `${this.#lines.join('\n')}\n`;
  }

  #request(): void {
    const { method, url, from, headers } = this.#account.request;
    this.#lines.push(`${this.#c.bold(`${method} ${printable(url)}`)}  ${this.#c.dim(`from ${from}`)}`);
    for (const [name, value] of headers) this.#lines.push(this.#c.dim(`  ${printable(`${name}: ${value}`)}`));
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
    this.#lines.push('');
    this.#line(title, this.#c.green(printable(name)), place, printable(name));
    this.#line('', this.#c.dim(printable(why)), '', printable(why));
    for (const other of others) this.#candidate(other);
  }

  #candidate({ text, place, chosen, why }: Candidate, depth = 0): void {
    const plain = `${'  '.repeat(depth)}${chosen ? '✓' : '✗'} ${printable(text).padEnd(24 - 2 * depth)} ${printable(why)}`;
    this.#line('', chosen ? this.#c.green(plain) : this.#c.dim(plain), place, plain);
  }

  #round(index: number, uri: string, steps: readonly AccountStep[]): void {
    this.#lines.push('');
    if (uri !== '') this.#line(`ROUND ${index + 1}`, this.#c.bold(printable(uri)), '', printable(uri));
    for (const step of steps) this.#step(step);
  }

  #step(step: AccountStep): void {
    switch (step.kind) {
      case 'location':
        return this.#location(step);
      case 'directive':
        this.#pair('', step.text, { place: step.place, paint: (text) => text });
        this.#note(`→ ${step.outcome}${step.known.length > 0 ? `  (${step.known.join(', ')})` : ''}`);
        return undefined;
      case 'open':
        return this.#note(
          `? only a running gateway knows: ${step.text}; here: ${step.assumed}`,
          this.#c.yellow,
        );
      case 'phase':
        return this.#phase(step);
      case 'jump':
        return this.#pair('', `↪ ${step.text}`, { place: step.place, paint: this.#c.cyan });
      case 'log':
        return this.#note(`error log [${step.level}]: ${step.text}`, this.#c.dim);
    }
  }

  #location({ text, place, search }: Extract<AccountStep, { kind: 'location' }>): void {
    this.#pair('LOCATION', text, { place, paint: this.#c.green });
    if (!search) return;
    for (const candidate of search.candidates) this.#candidate(candidate, candidate.depth);
    if (search.unnamed > 0) this.#note(`and ${search.unnamed} more that do not fit`, this.#c.dim);
  }

  #phase({ phase, module, text, place, facts, unknown }: Extract<AccountStep, { kind: 'phase' }>): void {
    // The content is told of as the answer.
    if (phase === 'content') return;
    this.#pair(phase === 'access' ? 'ACCESS' : '', `${module}: ${text}`, { place, paint: (plain) => plain });
    this.#facts(facts);
    if (unknown !== undefined) this.#note(`? ${unknown}`, this.#c.yellow);
  }

  #effective(): void {
    const { effective, replaced } = this.#account;
    if (effective.length + replaced.length === 0) return;
    this.#lines.push('');
    let level = '';
    for (const [index, directive] of effective.entries()) {
      const title = index === 0 ? 'HOLDS' : '';
      if (directive.level !== level)
        this.#line(
          title,
          this.#c.dim(`${directive.inherited ? 'inherited from' : 'in'} ${directive.level}`),
          '',
        );
      level = directive.level;
      this.#pair('', `  ${directive.text}`, { place: directive.place, paint: (text) => text });
    }
    for (const [index, { text, place, level: outer, by }] of replaced.entries()) {
      if (index === 0) this.#line('DROPPED', this.#c.dim('replaced further in'), '');
      this.#pair('', `  ${text}`, { place, paint: this.#c.dim });
      this.#note(`  of ${outer}, because of ${by}`, this.#c.dim);
    }
  }

  #answer(): void {
    const { found, answer } = this.#account;
    this.#lines.push('');
    const status = answer.status === undefined ? '' : `${statusLine(answer.status)}  `;
    const paint = !found || (answer.status ?? 0) >= 400 ? this.#c.red : this.#c.green;
    this.#pair(found ? 'ANSWER' : 'NOBODY', `${status}${answer.does}`, {
      place: answer.place,
      paint: (text) => this.#c.bold(paint(text)),
    });
    this.#facts(answer.facts);
    if (answer.unknown !== undefined) this.#note(`? ${answer.unknown}`, this.#c.yellow);
  }

  #branches(): void {
    for (const { question, if: other, then } of this.#account.branches) {
      this.#lines.push('');
      this.#pair('OTHERWISE', `${question}: ${other}`, { place: '', paint: this.#c.yellow });
      this.#note(`→ ${then}`);
    }
  }

  #facts(facts: readonly Fact[]): void {
    const width = Math.max(0, ...facts.map(({ label }) => label.length));
    for (const [index, { label, value }] of facts.entries()) {
      const name = facts[index - 1]?.label === label ? '' : label;
      for (const [row, text] of value.split('\n').entries())
        this.#note(`${this.#c.cyan((row === 0 ? name : '').padEnd(width))}  ${printable(text)}`);
    }
  }

  #note(text: string, paint: (text: string) => string = (plain) => plain): void {
    this.#lines.push(`${' '.repeat(INDENT + 2)}${paint(text)}`.trimEnd());
  }

  #pair(
    title: string,
    text: string,
    { place, paint }: { place: string; paint: (text: string) => string },
  ): void {
    const plain = printable(text);
    this.#line(title, paint(plain), place, plain);
  }

  /** `plain`: the text without colours, for its width. */
  #line(title: string, text: string, place: string, plain = text): void {
    const start = this.#c.bold(title.padEnd(INDENT));
    const gap = ' '.repeat(Math.max(2, PLACES_AT - INDENT - plain.length));
    this.#lines.push(
      `${start}${text}${place === '' ? '' : `${gap}${this.#c.dim(printable(place))}`}`.trimEnd(),
    );
  }
}
