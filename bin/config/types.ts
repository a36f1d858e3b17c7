import { readFileSync } from 'node:fs';
import { loadDbrestTools } from '../../src/tools/lookups.ts';
import { replaceFile } from '../replace-file.ts';
import { fail, failureText, visible } from '../terminal.ts';
import { openSource, type TypesSource, type TypesSourceOptions } from './types-source.ts';

/** Options of `gw types`. */
export interface TypesOptions extends TypesSourceOptions {
  readonly output?: string;
  readonly check?: boolean;
  readonly watch?: boolean;
  /** Milliseconds between two reads of `--watch` without a notification. */
  readonly interval?: number;
}

/**
 * `gw types`: writes the TypeScript types of schemas. Exit code 1: they cannot be read, or with `--check` the file
 * differs from them; 2: an option is wrong.
 */
export async function types(dsn: string | undefined, options: TypesOptions): Promise<number> {
  const { output, check, watch } = options;
  if (output === undefined && (check || watch))
    return fail(`--${check ? 'check' : 'watch'} needs the file: --output`, 2);
  if (check && watch) return fail('--check and --watch exclude each other', 2);
  const source = await openSource(dsn, options);
  if ('refused' in source) return source.refused === '' ? source.code : fail(source.refused, source.code);
  if (output === undefined) return printTypes(source);
  if (check) return checkFile(source, output);
  return watch
    ? watchTypes(source, output, options.interval ?? source.intervalMs)
    : writeTypes(source, output);
}

/** Returns the text of the types, or the reason why they cannot be read. */
async function textOf(source: TypesSource): Promise<{ readonly text: string } | { readonly fault: string }> {
  const { typescriptOf } = await loadDbrestTools();
  try {
    const read = await source.read();
    return 'fault' in read ? read : { text: typescriptOf(read.types) };
  } catch (error) {
    return { fault: visible((error as Error).message) };
  }
}

async function printTypes(source: TypesSource): Promise<number> {
  const made = await textOf(source);
  if ('fault' in made) return fail(made.fault, 1);
  process.stdout.write(made.text);
  return 0;
}

async function checkFile(source: TypesSource, output: string): Promise<number> {
  const made = await textOf(source);
  if ('fault' in made) return fail(made.fault, 1);
  if (oldText(output) === made.text) return 0;
  return fail(`"${visible(output)}" is out of date`, 1);
}

async function writeTypes(source: TypesSource, output: string): Promise<number> {
  const made = await textOf(source);
  if ('fault' in made) return fail(made.fault, 1);
  const state = writeChanged(output, made.text) ? 'written' : 'unchanged';
  process.stderr.write(`gw: "${visible(output)}" is ${state}\n`);
  return 0;
}

/** Writes the file whenever the types have changed, until a signal ends the process. A failure is reported once. */
function watchTypes(source: TypesSource, output: string, intervalMs: number): Promise<number> {
  const changes = new Changes();
  return source
    .watch(
      () => changes.note(),
      async () => {
        let reported = '';
        for (;;) {
          const made = await textOf(source);
          if ('fault' in made) {
            if (made.fault !== reported) fail(`${made.fault}; trying again`, 1);
            reported = made.fault;
          } else {
            reported = '';
            if (writeChanged(output, made.text))
              process.stderr.write(`gw: "${visible(output)}" is written\n`);
          }
          await changes.next(intervalMs);
        }
      },
    )
    .catch((error: unknown) => fail(visible(failureText(error)), 1));
}

/** Changes that were announced; several at once count as one. */
class Changes {
  #isNoted = false;
  #wake: () => void = () => undefined;

  note(): void {
    this.#isNoted = true;
    this.#wake();
  }

  /** Resolves at the next change, at once if there was one since the last call, or after the interval. */
  async next(intervalMs: number): Promise<void> {
    if (!this.#isNoted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isNoted = false;
  }
}

/** Replaces the file if it has another text. A write that fails throws a system error. */
function writeChanged(output: string, text: string): boolean {
  if (oldText(output) === text) return false;
  replaceFile(output, text);
  return true;
}

/** Returns the text of the file; `undefined` if it does not exist. */
function oldText(output: string): string | undefined {
  try {
    return readFileSync(output, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
