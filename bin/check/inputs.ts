import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import {
  decodeText,
  type DumpedFiles,
  filesOfDump,
  globPaths,
  matchesGlob,
  readFileBytes,
  type Source,
} from '../../grammar/index.ts';
import { contextOf, innermost, wholeAround } from '../../src/tools/check/index.ts';
import type { Context } from '../../src/config/index.ts';
import { allDirectives } from '../../src/tools/lookups.ts';
import type { ConfigSource } from '../../src/pipeline.ts';
import { chosenSource, tellChoice } from '../chosen-config.ts';
import { failureText } from '../terminal.ts';
import { sourceOf } from '../options.ts';
import { isOfDemo } from '../running-demo.ts';
import type { CheckSettings } from './settings.ts';

/** A configuration to check. */
export interface Input {
  /** The printed name of its main file. */
  readonly name: string;
  readonly source: ConfigSource;
  /** The context of a fragment, which is checked inside generated blocks. */
  readonly fragment?: Context;
  /** The reason why its files cannot be written. */
  readonly readOnly?: 'stdin' | 'dump' | 'demo';
  /** True if it was found in a directory: it is not checked by itself if another configuration includes it. */
  readonly wasFound?: true;
}

/** The configurations that the command line names, and those that cannot be read. */
interface Inputs {
  readonly inputs: readonly Input[];
  /** One line for each that cannot be read. */
  readonly unreadable: readonly string[];
  readonly skipped: readonly string[];
}

/** Thrown for an input that cannot be read; the message is the reason. */
class UnreadableError extends Error {}

const STDIN = '-';
const MAX_BYTES = 64 * 1024 * 1024;

/** Returns the configurations that the command line names; without arguments the default one. */
export function inputsOf(files: readonly string[], settings: CheckSettings): Inputs {
  const named =
    files.length > 0 ? files.map((file) => () => inputsFor(file, settings)) : [() => chosen(settings)];
  return together(named.map(attempt));
}

/** The configuration that a command takes without a name. */
function chosen(settings: CheckSettings): Partial<Inputs> {
  const { prefix } = settings;
  const source = chosenSource({ prefix });
  tellChoice(source, undefined);
  if (isOfDemo(source)) return { inputs: [{ name: source.name, source, readOnly: 'demo' }] };
  const { name } = source;
  return inputsFor(prefix === undefined || isAbsolute(name) ? name : join(prefix, name), settings);
}

function inputsFor(file: string, settings: CheckSettings): Partial<Inputs> {
  if (file === STDIN) return { inputs: [inputOf(stdinSource(settings), settings, 'stdin')] };
  if (isDirectory(file)) return inputsIn(file, settings);
  return { inputs: [inputOf({ name: file, text: read(file) }, settings)] };
}

/** Catches the failure of one input, so that the others are checked. */
function attempt(read: () => Partial<Inputs>): Partial<Inputs> {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableError) return { unreadable: [error.message] };
    throw error;
  }
}

function together(all: readonly Partial<Inputs>[]): Inputs {
  return {
    inputs: all.flatMap(({ inputs = [] }) => inputs),
    unreadable: all.flatMap(({ unreadable = [] }) => unreadable),
    skipped: all.flatMap(({ skipped = [] }) => skipped),
  };
}

function stdinSource({ stdinFilename = 'standard input' }: CheckSettings): Source {
  return { name: stdinFilename, text: read(STDIN) };
}

function read(file: string): string {
  try {
    return decodeText(file === STDIN ? readFileSync(0) : readFileBytes(file, MAX_BYTES)).text;
  } catch (error) {
    throw new UnreadableError(failureText(error, file), { cause: error });
  }
}

function isDirectory(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

function inputOf(source: Source, settings: CheckSettings, readOnly?: 'stdin'): Input {
  const dump = filesOfDump(source.text);
  if (dump) return dumpInput(dump, settings);
  const given = settings.context === undefined ? undefined : innermost(settings.context);
  const context = given ?? placeFor(source);
  const facts = {
    name: source.name,
    ...(readOnly && { readOnly }),
  };
  if (context === undefined || context === 'main')
    return { ...facts, source: wholeSource(source, settings, readOnly) };
  return { ...facts, fragment: context, source: fragmentSource(source, context, settings) };
}

function placeFor(source: Source): Context | undefined {
  return filesOfDump(source.text) ? 'main' : contextOf(source, allDirectives());
}

function wholeSource({ name, text }: Source, { prefix }: CheckSettings, readOnly?: 'stdin'): ConfigSource {
  const source = sourceOf({ confFile: resolve(name), prefix });
  return { ...source, name, ...(readOnly && { text }) };
}

const FRAGMENT = 'gw-check-*';

/** Returns a source that includes a fragment. The pattern matches only its name, which may contain any character. */
function fragmentSource({ name, text }: Source, context: Context, settings: CheckSettings): ConfigSource {
  const path = resolve(name);
  const base = baseOf(path);
  const shownBase = join(dirname(name), relative(dirname(path), base));
  const around = { name: join(shownBase, `(${context})`), text: wholeAround(context, FRAGMENT) };
  return {
    ...wholeSource(around, settings),
    confFile: join(base, '(fragment)'),
    text: around.text,
    glob: (pattern, directory) =>
      pattern === FRAGMENT ? [relative(base, path)] : globPaths(pattern, directory),
    readFile: (file, maxBytes) => (file === path ? text : readFileBytes(file, maxBytes)),
  };
}

const MAIN_FILES = ['gateway.conf', 'nginx.conf'];

/** Returns the directory for the includes of a fragment: the directory of the configuration above it. */
function baseOf(path: string): string {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (MAIN_FILES.some((name) => existsSync(join(directory, name)))) return directory;
    if (directory === dirname(directory)) return dirname(path);
  }
}

/** Returns a dump as input. Its includes are read from the dump, because the files of this machine may differ. */
function dumpInput({ main, texts }: DumpedFiles, settings: CheckSettings): Input {
  return {
    name: main,
    readOnly: 'dump',
    source: {
      ...wholeSource({ name: main, text: '' }, settings),
      text: texts.get(main) ?? '',
      readFile: (file, maxBytes) => texts.get(file) ?? readFileBytes(file, maxBytes),
      glob: (pattern, directory) => {
        const absolute = resolve(directory, pattern);
        return [...texts.keys()].filter((path) => matchesGlob(path, absolute)).sort();
      },
    },
  };
}

const CONFIGURATION = /\.conf$/;
const NOT_OURS = /(^|\/)(node_modules|\.git)\//;

/** Returns every `.conf` file in a directory and below it. */
function inputsIn(directory: string, settings: CheckSettings): Inputs {
  const names = namesIn(directory);
  if (names.length === 0) throw new UnreadableError(`there is no *.conf in "${directory}"`);
  return together(names.map((name) => attempt(() => foundInput(name, settings))));
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => CONFIGURATION.test(entry.name) && !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !NOT_OURS.test(file))
      .sort();
  } catch (error) {
    throw new UnreadableError(failureText(error, directory), { cause: error });
  }
}

function foundInput(name: string, settings: CheckSettings): Partial<Inputs> {
  const source: Source = { name, text: read(name) };
  if (settings.context === undefined && placeFor(source) === undefined) {
    const advice = 'a comment "# gw-context: server" in it would say where it belongs';
    return { skipped: [`"${name}" is skipped: ${advice}`] };
  }
  return { inputs: [{ ...inputOf(source, settings), wasFound: true }] };
}
