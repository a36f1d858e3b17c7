import { type BodyTransform, DATE_FORMAT, type Exchange, HttpFault } from '../../http/index.ts';
import { includedText, includedUri, Inclusion } from './inclusion.ts';
import { type SsiCommand, type SsiPart, SsiScanner } from './scanner.ts';
import { strftime } from './strftime.ts';
import { evaluate, holds, type PageVariables, sharedOf, SsiFault } from './values.ts';

/** The settings of pages. */
interface PageRules {
  readonly variables: PageVariables;
  readonly silentErrors: boolean;
  readonly maxValueBytes: number;
}

/** A part of the output: a Latin-1 text or a response. */
type Output = string | Inclusion;

const DEFAULT_MESSAGE = '[an error occurred while processing the directive]';

/** Maximum number of simultaneous subrequests of one page. */
const MAX_PARALLEL = 50;
/** A stub may include pages with stubs. */
const MAX_STUBS = 10;

/** The parameters of each command; `null`: it may have none. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  include: ['virtual', 'file', 'wait', 'set', 'stub'],
  echo: ['var', 'default', 'encoding', 'enc'],
  config: ['errmsg', 'timefmt'],
  set: ['var', 'value'],
  if: ['expr'],
  elif: ['expr'],
  else: [],
  endif: [],
  block: ['name'],
  endblock: [],
};

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  echo: ['var'],
  set: ['var', 'value'],
  if: ['expr'],
  elif: ['expr'],
  block: ['name'],
};

type Parameters = ReadonlyMap<string, string>;

/** Carries out the SSI commands of one page (nginx ngx_http_ssi_filter_module). */
export class SsiPage implements BodyTransform {
  readonly #x: Exchange;
  readonly #rules: PageRules;
  readonly #scanner: SsiScanner;
  readonly #depth: number;
  readonly #waiting: Output[] = [];
  readonly #running = new Set<Inclusion>();
  #message = DEFAULT_MESSAGE;
  #encode = ENCODINGS['entity'] as (text: string) => string;
  /** The state of the current condition. */
  #condition: 'none' | 'if' | 'else' = 'none';
  /** A branch of the condition has been taken. */
  #isChosen = false;
  #isShown = true;
  /** The name of the block that is being read. */
  #block: string | undefined = undefined;

  constructor(x: Exchange, rules: PageRules, depth = 0) {
    this.#x = x;
    this.#rules = rules;
    this.#depth = depth;
    this.#scanner = new SsiScanner(rules.maxValueBytes);
  }

  write(piece: Uint8Array): AsyncIterable<Uint8Array> {
    return this.#carryOut(this.#scanner.take(latin1(piece)));
  }

  end(): AsyncIterable<Uint8Array> {
    return this.#carryOut(this.#scanner.take('', true));
  }

  close(): void {
    for (const inclusion of this.#running) inclusion.close();
  }

  async *#carryOut(parts: readonly SsiPart[]): AsyncIterable<Uint8Array> {
    for (const part of parts) {
      if (part.kind === 'text') this.#addText(part.text);
      else if (part.kind === 'fault') this.#fail(part.fault);
      else if (this.#isCarriedOut(part)) yield* this.#command(part);
    }
    yield* this.#flush();
  }

  #addText(text: string): void {
    if (this.#block !== undefined) this.#addToBlock(text);
    else if (this.#isShown) this.#waiting.push(text);
  }

  #addToBlock(text: string): void {
    const { blocks } = sharedOf(this.#x);
    const name = this.#block as string;
    const content = (blocks.get(name) ?? '') + text;
    if (content.length <= this.#x.rules.maxKeptBytes) blocks.set(name, content);
  }

  /** Tells whether a command is carried out: not in a branch that is not taken. In a block it is kept for later. */
  #isCarriedOut({ name, source }: SsiCommand): boolean {
    if (this.#block !== undefined) {
      if (name === 'endblock') return true;
      this.#addToBlock(source);
      return false;
    }
    return this.#isShown || name === 'elif' || name === 'else' || name === 'endif' || name === 'endblock';
  }

  #fail(fault: string): void {
    this.#x.writeLog(`${fault} while sending the page "${this.#x.uri}"`);
    if (!this.#rules.silentErrors) this.#waiting.push(this.#message);
  }

  async *#command(command: SsiCommand): AsyncIterable<Uint8Array> {
    try {
      const given = parametersOf(command);
      if (command.name === 'include') yield* this.#include(given);
      else this.#atOnce(command.name, given);
    } catch (error) {
      // A match that takes too long is a fault of the page, too.
      if (!(error instanceof SsiFault || error instanceof HttpFault)) throw error;
      this.#fail(error.message);
    }
  }

  #atOnce(name: string, given: Parameters): void {
    if (name === 'echo') this.#echo(given);
    else if (name === 'set') {
      const value = this.#evaluated(given.get('value') as string);
      sharedOf(this.#x).variables.set((given.get('var') as string).toLowerCase(), value);
    } else if (name === 'config') this.#configure(given);
    else if (name === 'block') {
      this.#block = given.get('name') as string;
      sharedOf(this.#x).blocks.set(this.#block, '');
    } else if (name === 'endblock') this.#block = undefined;
    else this.#branch(name, given);
  }

  #branch(name: string, given: Parameters): void {
    if (name === 'if') {
      if (this.#condition !== 'none') throw new SsiFault('the "if" command inside the "if" command');
      this.#choose(given);
      this.#condition = 'if';
      return;
    }
    if (this.#condition === 'none' || (this.#condition === 'else' && name !== 'endif'))
      throw new SsiFault(`invalid context of SSI command: "${name}"`);
    if (name === 'elif') return this.#choose(given);
    this.#isShown = name === 'endif' || !this.#isChosen;
    this.#condition = name === 'else' ? 'else' : 'none';
    if (name === 'endif') this.#isChosen = false;
  }

  /** Shows the branch if its expression is true and no earlier branch was shown. */
  #choose(given: Parameters): void {
    this.#isShown = !this.#isChosen && holds(given.get('expr') as string, this.#x, this.#valueOf);
    this.#isChosen ||= this.#isShown;
  }

  #echo(given: Parameters): void {
    const encoding = given.get('encoding') ?? given.get('enc');
    // As in nginx, an encoding holds for the rest of the page.
    if (encoding !== undefined) this.#encode = ENCODINGS[encoding] ?? this.#encode;
    const fallback = given.get('default');
    const value = this.#valueOf((given.get('var') as string).toLowerCase());
    this.#waiting.push(this.#encode(value ?? fallback ?? '(none)'));
  }

  #configure(given: Parameters): void {
    const format = given.get('timefmt');
    if (format !== undefined)
      this.#x.setState(DATE_FORMAT, {
        local: (ms) => strftime(format, ms, false),
        gmt: (ms) => strftime(format, ms, true),
      });
    this.#message = given.get('errmsg') ?? this.#message;
  }

  async *#include(given: Parameters): AsyncIterable<Uint8Array> {
    const [virtual, file] = [given.get('virtual'), given.get('file')];
    const named = virtual ?? file;
    if (named === undefined) throw new SsiFault('no parameter in "include" SSI command');
    if (virtual !== undefined && file !== undefined)
      throw new SsiFault(`inclusion may be either virtual="${virtual}" or file="${file}"`);
    const target = includedUri(this.#evaluated(named), this.#x.uri);
    const [set, stub] = [given.get('set'), given.get('stub')];
    if (set !== undefined && stub !== undefined)
      throw new SsiFault('"set" and "stub" cannot be used together in "include" SSI command');
    if (set !== undefined) {
      const text = await includedText(this.#x, target);
      return void sharedOf(this.#x).variables.set(set.toLowerCase(), text ?? '');
    }
    if (stub !== undefined && !sharedOf(this.#x).blocks.has(stub))
      throw new SsiFault(`"stub"="${stub}" for "include" not found`);
    const inclusion = new Inclusion(this.#x, target, stub !== undefined);
    this.#waiting.push(inclusion);
    if (stub !== undefined) this.#stubs.set(inclusion, stub);
    if (isWaited(given)) yield* this.#flush();
  }

  readonly #stubs = new Map<Inclusion, string>();

  #begin(inclusion: Inclusion): void {
    this.#running.add(inclusion);
    inclusion.begin();
  }

  /** Sends what has been read, in its order. */
  async *#flush(): AsyncIterable<Uint8Array> {
    let text = '';
    const waiting = this.#waiting.splice(0);
    // They are requested after this part of the page is read, so variables that they set have no effect on it (nginx).
    const inclusions = waiting.filter((output) => typeof output !== 'string');
    for (const inclusion of inclusions.splice(0, MAX_PARALLEL)) this.#begin(inclusion);
    for (const output of waiting) {
      if (typeof output === 'string') {
        text += output;
        continue;
      }
      if (text !== '') yield Buffer.from(text, 'latin1');
      text = '';
      yield* output.pieces();
      this.#running.delete(output);
      const [next] = inclusions.splice(0, 1);
      if (next) this.#begin(next);
      yield* this.#stub(output);
    }
    if (text !== '') yield Buffer.from(text, 'latin1');
  }

  /** Yields the block that replaces an empty response or an error. */
  async *#stub(inclusion: Inclusion): AsyncIterable<Uint8Array> {
    const name = this.#stubs.get(inclusion);
    this.#stubs.delete(inclusion);
    const content =
      name !== undefined && inclusion.needsStub ? sharedOf(this.#x).blocks.get(name) : undefined;
    if (content === undefined || content === '' || this.#depth >= MAX_STUBS) return;
    const page = new SsiPage(this.#x, this.#rules, this.#depth + 1);
    yield* page.write(Buffer.from(content, 'latin1'));
    yield* page.end();
  }

  readonly #valueOf = (name: string): string | undefined => this.#rules.variables.get(this.#x, name);

  #evaluated(text: string): string {
    return evaluate(text, this.#valueOf);
  }
}

function latin1(piece: Uint8Array): string {
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1');
}

/** Tells whether the page waits for an inclusion: a file, or a request with `wait="yes"`. */
function isWaited(given: Parameters): boolean {
  const wait = given.get('wait');
  if (given.has('file')) return true;
  if (wait !== undefined && wait !== 'yes' && wait !== 'no')
    throw new SsiFault(`invalid value "${wait}" in the "wait" parameter`);
  return wait === 'yes';
}

/** Reads the parameters of a command; of several with one name the first is used. */
function parametersOf({ name, parameters }: SsiCommand): Parameters {
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!known) throw new SsiFault(`invalid SSI command: "${name}"`);
  const given = new Map<string, string>();
  for (const [key, value] of parameters) {
    if (!known.includes(key)) throw new SsiFault(`invalid parameter name: "${key}" in "${name}" SSI command`);
    if (given.has(key) && name !== 'config')
      throw new SsiFault(`duplicate "${key}" parameter in "${name}" SSI command`);
    given.set(key, value);
  }
  const missing = NEEDED[name]?.find((needed) => !given.has(needed));
  if (missing !== undefined)
    throw new SsiFault(`mandatory "${missing}" parameter is absent in "${name}" SSI command`);
  return given;
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };

/** The encodings of `echo` (nginx NGX_ESCAPE_HTML, ngx_escape_html). */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  none: (text) => text,
  // eslint-disable-next-line no-control-regex -- it looks for control bytes
  url: (text) =>
    text.replaceAll(
      /[\0- "#%'<>\\^`{|}\x7f-\xff]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    ),
  entity: (text) => text.replaceAll(/[<>&"]/g, (char) => ENTITIES[char] as string),
};
