import { setTimeout as delay } from 'node:timers/promises';
import { takesColor } from '../../../grammar/index.ts';
import {
  callControl,
  type ControlOptions,
  type ControlTarget,
  fail,
  findControl,
} from '../control-client.ts';
import { MetricSamples, readMetrics } from '../metrics-text.ts';
import { factsBetween, type Reading, type TopFacts } from './facts.ts';
import { PAGES } from './pages.ts';
import { screenLines, type TopView } from './screen.ts';
import { askStatements } from './statements.ts';

/** Options of `gw top`. */
export interface TopOptions extends ControlOptions {
  readonly once?: boolean;
  readonly json?: boolean;
}

const EVERY_MS = 2_000;
/** Between the two readings of `--once`. */
const ONCE_MS = 1_000;
const LONGEST_FILTER = 100;
/** Statements that are read: those that are printed once, and those that a terminal can sort and filter. */
const PRINTED_STATEMENTS = 20;
const SHOWN_STATEMENTS = 200;

/**
 * `gw top`: shows what a running gateway does, until `q`; or once, with `--once`, `--json` and where the output is not a
 * terminal. Exit code 1: there is no response, or only of something else.
 */
export async function top({ once, json, ...options }: TopOptions): Promise<number> {
  const target = findControl('metrics', options);
  if (typeof target === 'string') return fail(target);
  const statements = findControl('statements', options);
  if (once || json || !process.stdout.isTTY)
    return showOnce({ target, statements, limit: PRINTED_STATEMENTS }, json === true);
  return new TopSession({ target, statements, limit: SHOWN_STATEMENTS }).run();
}

/** What is asked, and for how many statements. */
interface Source {
  readonly target: ControlTarget;
  /** A message: nowhere. */
  readonly statements: ControlTarget | string;
  readonly limit: number;
}

async function showOnce(source: Source, json: boolean): Promise<number> {
  const earlier = await read(source);
  if (typeof earlier === 'string') return fail(`gw: ${earlier}`);
  await delay(ONCE_MS);
  const now = await read(source);
  if (typeof now === 'string') return fail(`gw: ${now}`);
  const facts = factsBetween(earlier, now);
  if (json) process.stdout.write(`${JSON.stringify(facts)}\n`);
  else for (const text of pagesOf(facts, source.target.url)) process.stdout.write(`${text}\n`);
  return 0;
}

/** The head, and each page that has rows. */
function pagesOf(facts: TopFacts, url: string): readonly string[] {
  const sortBy = PAGES.map((page) => page.sortBy);
  const view = { sortBy, filter: '', isTyping: false, isPaused: false, showsHelp: false, url };
  const room = { columns: 120, lines: Infinity, color: false };
  return PAGES.flatMap(({ rows }, page) => {
    const count = rows(facts).length;
    if (count === 0 && page > 0) return [];
    // Behind three lines of the head and that of the pages come the heading and the rows; the last line has the keys.
    const lines = screenLines(facts, { ...view, page }, { ...room, lines: count + 6 });
    return [...(page === 0 ? lines.slice(0, 3) : []), '', ...lines.slice(4, -1)].map((line) =>
      line.trimEnd(),
    );
  });
}

/** Reads metrics and statements; resolves to a message in one line if that fails. */
async function read({ target, statements: from, limit }: Source): Promise<Reading | string> {
  try {
    const { status, body } = await callControl(target);
    if (status !== 200) return `${target.url} responds with ${status}`;
    const samples = new MetricSamples(readMetrics(body));
    const atMs = Date.now();
    return { samples, atMs, statements: await askStatements(from, limit) };
  } catch (error) {
    return (error as Error).message;
  }
}

/** Switches to the other screen of a terminal without a cursor, and back. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** A session on a terminal. It ends by a key or a signal, and leaves the terminal as it was. */
class TopSession {
  readonly #source: Source;
  readonly #ended: Promise<number>;
  /** Ends the session with an exit code. */
  #end: (code: number) => void = () => undefined;
  #view: TopView;
  #facts: TopFacts | undefined;
  #last: Reading | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Source) {
    this.#source = source;
    this.#ended = new Promise((end) => (this.#end = end));
    const sortBy = PAGES.map((page) => page.sortBy);
    const off = { isTyping: false, isPaused: false, showsHelp: false };
    this.#view = { page: 0, sortBy, filter: '', ...off, url: source.target.url };
  }

  async run(): Promise<number> {
    const { stdin, stdout } = process;
    const draw = (): void => this.#draw();
    const press = (keys: string): void => this.#press(keys);
    const restore = (): void => void stdout.write(LEAVE);
    for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => this.#end(code));
    process.on('exit', restore);
    stdout.on('resize', draw);
    // A terminal that is gone takes no more lines.
    stdout.on('error', () => this.#end(1));
    stdout.write(ENTER);
    if (stdin.isTTY) {
      stdin.setRawMode(true).setEncoding('utf8').on('data', press);
      stdin.on('end', () => this.#end(0));
    }
    draw();
    void this.#ask();
    const code = await this.#ended;
    clearTimeout(this.#timer);
    stdout.off('resize', draw);
    process.off('exit', restore);
    restore();
    if (stdin.isTTY) stdin.setRawMode(false).pause();
    return code;
  }

  /** Asks the gateway, again and again; never two questions at once. */
  async #ask(): Promise<void> {
    if (!this.#view.isPaused) {
      const reading = await read(this.#source);
      if (typeof reading === 'string') this.#change({ fault: reading });
      else {
        const earlier = this.#last;
        this.#last = reading;
        this.#facts = factsBetween(earlier ?? reading, reading);
        this.#change({ fault: undefined });
      }
    }
    // The first rates need a second reading.
    this.#timer = setTimeout(() => void this.#ask(), EVERY_MS);
  }

  /** Takes what was typed: a key, several, or a sequence of an arrow key, which means nothing here. */
  #press(keys: string): void {
    if (keys.startsWith('\u001b') && keys.length > 1) return;
    for (const key of keys) {
      if (key === '\u0003' || key === '\u0004') this.#end(0);
      else if (this.#view.isTyping) this.#type(key);
      else this.#obey(key);
    }
  }

  #obey(key: string): void {
    const { isPaused, showsHelp, page, sortBy } = this.#view;
    if (key === 'q') this.#end(0);
    else if (key === 'p') this.#change({ isPaused: !isPaused });
    else if (key === '?') this.#change({ showsHelp: !showsHelp });
    else if (key === '/') this.#change({ isTyping: true, filter: '', showsHelp: false });
    else if (key === '\u001b') this.#change({ showsHelp: false, filter: '' });
    else if (PAGES[Number(key) - 1]) this.#change({ page: Number(key) - 1, showsHelp: false });
    else if (key === 's') {
      const next = ((sortBy[page] ?? 0) + 1) % (PAGES[page]?.columns.length ?? 1);
      this.#change({ sortBy: sortBy.with(page, next) });
    }
  }

  #type(key: string): void {
    const { filter } = this.#view;
    if (key === '\r' || key === '\n') this.#change({ isTyping: false });
    else if (key === '\u001b') this.#change({ isTyping: false, filter: '' });
    else if (key === '\u007f' || key === '\b')
      this.#change({ filter: Array.from(filter).slice(0, -1).join('') });
    else if (key >= ' ' && filter.length < LONGEST_FILTER) this.#change({ filter: filter + key });
  }

  #change(change: Partial<TopView>): void {
    this.#view = { ...this.#view, ...change };
    this.#draw();
  }

  #draw(): void {
    // A terminal without a size tells 0.
    const { columns, rows } = process.stdout;
    const color = takesColor(process.stdout);
    const shown = screenLines(this.#facts, this.#view, { columns: columns || 80, lines: rows || 24, color });
    process.stdout.write(`${HOME}${shown.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}`);
  }
}
