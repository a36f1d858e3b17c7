/** One SSI command of a page. */
export interface SsiCommand {
  readonly kind: 'command';
  /** In lower case. */
  readonly name: string;
  /** In the order of the page; a name may be repeated. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** The source text. */
  readonly source: string;
}

/** A part of a page; texts are Latin-1, one character for each byte. */
export type SsiPart =
  | { readonly kind: 'text'; readonly text: string }
  | SsiCommand
  /** A command that cannot be read. */
  | { readonly kind: 'fault'; readonly fault: string; readonly source: string };

const START = '<!--#';
const END = '-->';
/** nginx: NGX_HTTP_SSI_COMMAND_LEN, NGX_HTTP_SSI_PARAM_LEN, NGX_HTTP_SSI_MAX_PARAMS. */
const MAX_NAME = 31;
const MAX_PARAMETERS = 16;
/** Longest command. A longer comment is text, so that one without an end takes no memory. */
const MAX_COMMAND = 16_384;

const NAME = /[^ \t\r\n=-]/;
const BLANK = /[ \t\r\n]/;

/** Finds the commands in a page that arrives in pieces. A possible beginning of one is kept until the next piece. */
export class SsiScanner {
  readonly #maxValue: number;
  #kept = '';

  /** `maxValue`: bytes of the longest value of a parameter. */
  constructor(maxValue: number) {
    this.#maxValue = maxValue;
  }

  /** Returns the parts of the page up to here. `isLast`: no text follows. */
  take(piece: string, isLast = false): readonly SsiPart[] {
    const text = this.#kept + piece;
    const parts: SsiPart[] = [];
    let at = 0;
    for (;;) {
      const start = text.indexOf(START, at);
      if (start < 0) break;
      const read = new CommandReader(text, start, this.#maxValue).read();
      addText(parts, text.slice(at, start));
      if (!read && text.length - start <= MAX_COMMAND) return this.#keep(parts, text.slice(start), isLast);
      if (read) parts.push(read.part);
      else addText(parts, START);
      at = read?.end ?? start + START.length;
    }
    const open = isLast ? 0 : beginning(text, at);
    addText(parts, text.slice(at, text.length - open));
    return this.#keep(parts, text.slice(text.length - open), isLast);
  }

  #keep(parts: SsiPart[], rest: string, isLast: boolean): readonly SsiPart[] {
    this.#kept = isLast ? '' : rest;
    // An unfinished command is left out, as in nginx.
    if (isLast && !rest.startsWith(START)) addText(parts, rest);
    return parts;
  }
}

function addText(parts: SsiPart[], text: string): void {
  if (text !== '') parts.push({ kind: 'text', text });
}

/** Returns the number of characters at the end of the text that may begin a command. */
function beginning(text: string, from: number): number {
  for (let length = Math.min(START.length - 1, text.length - from); length > 0; length--)
    if (text.endsWith(START.slice(0, length))) return length;
  return 0;
}

/** Reads one command (nginx ngx_http_ssi_parse). */
class CommandReader {
  readonly #text: string;
  readonly #start: number;
  readonly #maxValue: number;
  #at: number;
  #name = '';

  constructor(text: string, start: number, maxValue: number) {
    this.#text = text;
    this.#start = start;
    this.#at = start + START.length;
    this.#maxValue = maxValue;
  }

  /** Reads the command; `undefined` if it does not end in this text. */
  read(): { readonly part: SsiPart; readonly end: number } | undefined {
    this.#blanks();
    this.#name = this.#word().toLowerCase();
    if (this.#name.length > MAX_NAME) return this.#fault(`the "${this.#name}" SSI command is too long`);
    const parameters: [string, string][] = [];
    for (;;) {
      this.#blanks();
      if (this.#isOver) return undefined;
      if (this.#text[this.#at] === '-') return this.#end(parameters);
      const read = this.#parameter();
      if (read === undefined) return undefined;
      if (typeof read === 'string') return this.#fault(read);
      if (parameters.length === MAX_PARAMETERS)
        return this.#fault(`too many SSI command parameters in "${this.#name}"`);
      parameters.push(read);
    }
  }

  /** Reads a parameter. Returns a text for a fault, and `undefined` if the parameter does not end in this text. */
  #parameter(): [string, string] | string | undefined {
    const name = this.#word().toLowerCase();
    if (name.length > MAX_NAME) return `too long "${name}" parameter in "${this.#name}" SSI command`;
    this.#blanks();
    if (this.#isOver) return undefined;
    if (this.#text[this.#at] !== '=')
      return `unexpected "${this.#text[this.#at]}" symbol after "${name}" parameter in "${this.#name}" SSI command`;
    this.#at++;
    this.#blanks();
    if (this.#isOver) return undefined;
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'")
      return `unexpected "${quote}" symbol before value of "${name}" parameter in "${this.#name}" SSI command`;
    const value = this.#value(quote);
    if (value === undefined) return undefined;
    if (value.length > this.#maxValue)
      return `too long "${value}" value of "${name}" parameter in "${this.#name}" SSI command`;
    return [name, value];
  }

  /** Reads the value up to its quote, with its backslashes. A value that is too long ends early. */
  #value(quote: string): string | undefined {
    const start = ++this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      if (this.#at - start > this.#maxValue) return this.#text.slice(start, this.#at);
      const char = this.#text[this.#at];
      if (char === '\\') this.#at++;
      else if (char === quote) return this.#text.slice(start, this.#at++);
    }
    return undefined;
  }

  #end(parameters: SsiCommand['parameters']): { part: SsiPart; end: number } | undefined {
    const rest = this.#text.slice(this.#at, this.#at + END.length);
    if (rest === END) {
      const end = this.#at + END.length;
      const source = this.#text.slice(this.#start, end);
      return { part: { kind: 'command', name: this.#name, parameters, source }, end };
    }
    return END.startsWith(rest)
      ? undefined
      : this.#fault(`unexpected "${rest}" in "${this.#name}" SSI command`);
  }

  /** Returns a fault, which extends to the end of the comment. */
  #fault(fault: string): { part: SsiPart; end: number } | undefined {
    const found = this.#text.indexOf(END, this.#at);
    if (found < 0) return undefined;
    const end = found + END.length;
    return { part: { kind: 'fault', fault, source: this.#text.slice(this.#start, end) }, end };
  }

  get #isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  #blanks(): void {
    while (!this.#isOver && BLANK.test(this.#text[this.#at] as string)) this.#at++;
  }

  #word(): string {
    const start = this.#at;
    while (!this.#isOver && NAME.test(this.#text[this.#at] as string) && this.#at - start <= MAX_NAME)
      this.#at++;
    return this.#text.slice(start, this.#at);
  }
}
