import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import { LEVELS, parseSyslog } from '../../log/index.ts';
import type { ErrorLogTarget, Level } from '../../log/index.ts';

const SYNTAX =
  'file | stderr | syslog:server=address[,parameter=value] [debug | info | notice | warn | error | crit | alert | emerg]';
/** Parts of nginx that can be debugged alone. */
const DEBUG = /^debug_(core|alloc|mutex|event|http|mail|stream)$/;

/** `error_log target [level]`. */
export const errorLog: ArgReader<ErrorLogTarget> = readers.words(
  { syntax: SYNTAX, min: 1, max: Infinity },
  ([target, ...levels], scope) => {
    const level = readLevel(levels, scope);
    const place = readPlace(target as Word, scope);
    return place && level && { ...place, level };
  },
);

function readLevel([first, ...more]: readonly Word[], { report }: ReadScope): Level | undefined {
  if (!first) return 'error';
  const isDebug = DEBUG.test(first.value);
  const level = isDebug ? 'debug' : LEVELS.find((name) => name === first.value);
  const wrong = more.find(({ value }) => !DEBUG.test(value));
  if (!level)
    report.emerg(`invalid log level "${first.value}"`, first.span, readers.expectedOf(first, LEVELS));
  else if (more.length > 0 && (!isDebug || wrong)) {
    const { value, span } = wrong ?? (more[0] as Word);
    report.emerg(`duplicate log level "${value}"`, span, { rule: 'duplicate-directive' });
    return undefined;
  }
  return level;
}

function readPlace({ value, span }: Word, { report }: ReadScope): Place | undefined {
  if (value.startsWith('memory:')) {
    report.emerg('"error_log" cannot write to memory', span, 'log to a file or to stderr');
    return undefined;
  }
  if (!value.startsWith('syslog:')) return { path: value };
  const syslog = parseSyslog(value);
  if (typeof syslog !== 'string') return { syslog };
  report.emerg(syslog, span);
  return undefined;
}

type Place = { path: string } | { syslog: Exclude<ReturnType<typeof parseSyslog>, string> };
