import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Condition, FileTest } from '../../contract/index.ts';
import { type Exchange, logContext } from '../../http/index.ts';
import { systemFailure } from '../../system/index.ts';
import { compileMatch, compileOperand, type Compiling } from './captures.ts';

const OWNER_MAY_EXECUTE = 0o100;

/** The condition of each file test. Sockets and devices are neither files nor directories. */
const TESTS: Readonly<Record<FileTest, (stats: Stats) => boolean>> = {
  f: (stats) => stats.isFile(),
  d: (stats) => stats.isDirectory(),
  e: (stats) => stats.isFile() || stats.isDirectory(),
  x: (stats) => (stats.mode & OWNER_MAY_EXECUTE) !== 0,
};

/** Errors that only mean that the file does not exist. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** Compiles `-f`, `-d`, `-e` and `-x`. The test is synchronous: the result is nearly always in the system's cache. */
function compileFileTest(
  { test, negated, value }: Extract<Condition, { readonly test: FileTest }>,
  { build, prefix }: Compiling,
): (x: Exchange) => boolean {
  const render = compileOperand(value, build);
  const fits = TESTS[test];
  return (x) => {
    const path = render(x);
    try {
      const stats = isPath(path) ? statSync(resolve(prefix, path), { throwIfNoEntry: false }) : undefined;
      return (stats !== undefined && fits(stats)) !== negated;
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code))
        build.log.write('crit', systemFailure('stat', path, error), logContext(x));
      return negated;
    }
  };
}

/** Tells whether a path may exist. An empty one does not in nginx, and no path contains NUL. */
function isPath(path: string): boolean {
  return path !== '' && !path.includes('\0');
}

/** Compiles the condition of an `if`. */
export function compileCondition(condition: Condition, compiling: Compiling): (x: Exchange) => boolean {
  const { build } = compiling;
  switch (condition.test) {
    case 'true': {
      const read = build.variable(condition.variable);
      return (x) => isTrue(read(x));
    }
    case 'equal': {
      const { negated } = condition;
      const read = build.variable(condition.variable);
      const render = compileOperand(condition.value, build);
      return (x) => ((read(x) ?? '') === render(x)) !== negated;
    }
    case 'match': {
      const { negated } = condition;
      const read = build.variable(condition.variable);
      const matches = compileMatch(condition.regex, compiling);
      return (x) => matches(x, read(x) ?? '') !== negated;
    }
    case 'f':
    case 'd':
    case 'e':
    case 'x':
      return compileFileTest(condition, compiling);
  }
}

/** nginx: everything but the empty string and `0` is true. */
function isTrue(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}
