import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers } from '../../config/index.ts';
import type { ArgReader, ComplexValue, ReadScope } from '../../config/index.ts';

/** How a format escapes the values of variables. */
export type Escape = 'default' | 'json' | 'none';

/** `log_format name [escape=…] string ...`. */
export interface LogFormat {
  readonly name: string;
  readonly escape: Escape;
  readonly value: ComplexValue;
}

/** One `access_log` directive. */
export type LogTarget =
  | { readonly off: true }
  | {
      readonly path: string;
      readonly format: string;
      readonly condition?: ComplexValue;
      /** 0: each line is written at once. */
      readonly bufferBytes: number;
      readonly flushMs?: number;
    };

/** The access logs of one location. */
export interface AccessLogConfig {
  readonly formats?: readonly LogFormat[];
  readonly logs?: readonly LogTarget[];
}

const logFormat: ArgReader<LogFormat> = readers.words(
  { syntax: 'name [escape=default | json | none] string ...', min: 2, max: Infinity },
  ([name, ...rest], scope) => {
    const escapeWord = rest[0]?.value.startsWith('escape=') ? rest.shift() : undefined;
    const escape = escapeWord?.value.slice(7) ?? 'default';
    if (escape !== 'default' && escape !== 'json' && escape !== 'none') {
      scope.report.emerg(
        `unknown log format escaping "${escape}"`,
        escapeWord?.span,
        'expected default, json or none',
      );
      return undefined;
    }
    const parts = rest.flatMap((word) => scope.complexValue(word).parts);
    return { name: (name as Word).value, escape, value: { parts } };
  },
);

const accessLog: ArgReader<LogTarget> = readers.words(
  { syntax: 'off | path [format] [buffer=size] [flush=time] [if=condition]', min: 1, max: Infinity },
  (words, scope) => {
    const [path, ...parameters] = words as [Word, ...Word[]];
    if (path.value === 'off' && parameters.length === 0) return { off: true };
    if (path.value.includes('$') || path.value.startsWith('syslog:')) {
      scope.report.emerg(
        `log path "${path.value}" is not supported`,
        path.span,
        'expected a file, /dev/stdout or stderr',
      );
      return undefined;
    }
    const formatWord = parameters[0]?.value.includes('=') ? undefined : parameters.shift();
    return readParameters(
      parameters,
      { path: path.value, format: formatWord?.value ?? 'combined', bufferBytes: 0 },
      scope,
    );
  },
);

type FileTarget = Exclude<LogTarget, { off: true }>;

function readParameters(
  parameters: readonly Word[],
  target: FileTarget,
  scope: ReadScope,
): FileTarget | undefined {
  let read = target;
  for (const word of parameters) {
    const [, name, text = ''] = /^(\w+)=(.*)$/s.exec(word.value) ?? [];
    const bufferBytes = name === 'buffer' ? readers.parseSize(text) : undefined;
    const flushMs = name === 'flush' ? readers.parseTimeMs(text) : undefined;
    if (name === 'if') read = { ...read, condition: dropPrefix(scope.complexValue(word), 'if=') };
    else if (bufferBytes !== undefined) read = { ...read, bufferBytes };
    else if (flushMs !== undefined) read = { ...read, flushMs, bufferBytes: read.bufferBytes || 65_536 };
    else {
      scope.report.emerg(`invalid parameter "${word.value}"`, word.span);
      return undefined;
    }
  }
  return read;
}

/** The value behind `name=` in one word. */
function dropPrefix({ parts: [first, ...rest] }: ComplexValue, prefix: string): ComplexValue {
  const text = typeof first === 'string' ? first.slice(prefix.length) : '';
  return { parts: text === '' ? rest : [text, ...rest] };
}

/** nginx's log module. */
export const directives = directivesFor<AccessLogConfig>()({
  log_format: {
    contexts: ['http'],
    args: logFormat,
    into: 'formats',
    repeat: 'append',
    defaultText: 'combined "..."',
    summary: 'Names a format for access logs.',
    source: 'nginx ngx_http_log_module#log_format',
  },
  access_log: {
    contexts: ['http', 'server', 'location', 'location if', 'limit_except'],
    args: accessLog,
    into: 'logs',
    repeat: 'append',
    defaultText: 'logs/access.log combined where that directory exists, else off',
    summary: 'Where requests are logged, in which format, and when.',
    source: 'nginx ngx_http_log_module#access_log',
  },
});
