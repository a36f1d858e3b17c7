import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, directivesFor, pathFrom, readers, type ReadScope } from '../../config/index.ts';

/** From how many milliseconds on something is slow. */
interface SlowThresholds {
  readonly request: number;
  readonly query: number;
  readonly kv: number;
  /** Absent: upstreams have no lines of their own. */
  readonly upstream?: number;
}

/** Where slow requests are logged, and what is slow. */
export interface SlowLogTarget {
  /** Absolute, or `stderr`. */
  readonly path: string;
  readonly thresholdsMs: SlowThresholds;
  /** Of each worker. */
  readonly linesPerSecond: number;
  readonly explain: boolean;
}

/** The slow log of one location. */
export interface SlowLogConfig {
  readonly target?: SlowLogTarget | 'off';
}

const SYNTAX =
  'off | path [request=time] [query=time] [kv=time] [upstream=time] [rate=number/s] [explain=on | off] [format=json]';
const USUAL = {
  thresholdsMs: { request: 1_000, query: 500, kv: 100 },
  linesPerSecond: 10,
  explain: false,
};

/** Reads `slow_log path [request=1s] [query=500ms] [kv=100ms] [upstream=time] [rate=10/s] [explain=on] [format=json]`. */
const slowLog: ArgReader<SlowLogTarget | 'off'> = readers.words(
  { syntax: SYNTAX, min: 1, max: 8 },
  (words, scope) => {
    const [path, ...parameters] = words as [Word, ...Word[]];
    if (path.value === 'off' && parameters.length === 0) return 'off';
    // The tries of a request are kept only where a variable such as this one needs them.
    scope.complexValue({ ...path, value: '$upstream_response_time', literals: [] });
    if (path.value.includes('$')) {
      scope.report.emerg(`"${scope.directive}" takes no variables in its path`, path.span);
      return undefined;
    }
    let target: SlowLogTarget | undefined = {
      path: path.value === 'stderr' ? path.value : resolve(scope.prefix, path.value),
      ...USUAL,
    };
    for (const word of parameters) target = target && readParameter(word, target, scope);
    return target;
  },
);

function readParameter(word: Word, target: SlowLogTarget, { report }: ReadScope): SlowLogTarget | undefined {
  const [, name = '', text = ''] = /^(\w+)=(.*)$/s.exec(word.value) ?? [];
  const read = readValue(name, text, target);
  if (read) return read;
  report.emerg(`invalid parameter "${word.value}"`, word.span);
  return undefined;
}

function readValue(name: string, text: string, target: SlowLogTarget): SlowLogTarget | undefined {
  switch (name) {
    case 'request':
    case 'query':
    case 'kv':
    case 'upstream': {
      const ms = readers.parseTimeMs(text);
      return ms === undefined
        ? undefined
        : { ...target, thresholdsMs: { ...target.thresholdsMs, [name]: ms } };
    }
    case 'rate':
      return /^[1-9]\d{0,5}\/s$/.test(text)
        ? { ...target, linesPerSecond: Number.parseInt(text, 10) }
        : undefined;
    case 'explain':
      return text === 'on' || text === 'off' ? { ...target, explain: text === 'on' } : undefined;
    case 'format':
      return text === 'json' ? target : undefined;
    default:
      return undefined;
  }
}

export const directives = directivesFor<SlowLogConfig>()({
  slow_log: {
    contexts: ['http', 'server', 'location'],
    args: slowLog,
    into: 'target',
    defaultText: 'off',
    summary:
      'Logs requests, statements, commands and upstreams that take longer than these times, with what the time was spent on, as objects of JSON without any values: at most `rate` lines a second and worker; the others are counted. `explain=on` adds the plan of a statement, at most once a minute. The times are 1s for requests, 500ms for statements and 100ms for commands of `kv_pass`; upstreams are logged where `upstream` is set.',
    roles: pathFrom('prefix'),
    source: 'gw',
  },
});
