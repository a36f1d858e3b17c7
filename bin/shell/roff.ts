/** A text for roff: nothing in it is a request or an escape. */
export function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(/\P{ASCII}/gu, (character) => `\\[u${hex(character)}]`);
}

function hex(character: string): string {
  return (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
}

/** A page of a manual that is being written with the macros of `man`. */
export class Page {
  readonly #lines: string[] = [];

  constructor(title: { readonly name: string; readonly section: number; readonly version: string }) {
    const { name, section, version } = title;
    this.#lines.push(`.TH "${roff(name.toUpperCase())}" "${section}" "" "gw ${version}" "gw"`);
  }

  section(title: string): void {
    this.#lines.push(`.SH "${roff(title)}"`);
  }

  subsection(title: string): void {
    this.#lines.push(`.SS "${roff(title)}"`);
  }

  /** The first of its section. */
  paragraph(text: string): void {
    this.#lines.push(roff(text));
  }

  /** `name - what it is for`, as apropos reads it. */
  name(name: string, summary: string): void {
    this.section('NAME');
    this.#lines.push(`${roff(name)} \\- ${roff(summary)}`);
  }

  /** Lines as they are. */
  literal(lines: readonly string[]): void {
    this.#lines.push('.nf', ...lines.map(roff), '.fi');
  }

  /** A term, in bold, and what it means, line by line. */
  term(term: string, lines: readonly string[]): void {
    this.#lines.push('.TP', `\\fB${roff(term)}\\fR`);
    for (const [at, line] of lines.entries()) this.#lines.push(...(at === 0 ? [] : ['.br']), roff(line));
  }

  text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}
