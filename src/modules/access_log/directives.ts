import type { Word } from '../../../grammar/index.ts';
import { defines, directivesFor, pathFrom, readers, uses } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import type { NamedLogRules } from '../../log/index.ts';
import type { AccessLogConfig, LogFormat } from './config.ts';
import { accessLog } from './target.ts';

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

const NO_CACHE: NamedLogRules = { max: 0, inactiveMs: 10_000, minUses: 1, validMs: 60_000 };

const CACHE_PARAMETERS: Readonly<Record<string, readonly [keyof NamedLogRules, 'count' | 'time']>> = {
  max: ['max', 'count'],
  min_uses: ['minUses', 'count'],
  inactive: ['inactiveMs', 'time'],
  valid: ['validMs', 'time'],
};

const fileCache: ArgReader<NamedLogRules> = readers.words(
  { syntax: 'off | max=number [inactive=time] [min_uses=number] [valid=time]', min: 1, max: 4 },
  (words, { directive, span, report }) => {
    let rules = NO_CACHE;
    if (words.length === 1 && words[0]?.value === 'off') return rules;
    for (const word of words) {
      const [, name = '', text = ''] = /^(\w+)=(.*)$/s.exec(word.value) ?? [];
      const [field, kind] = CACHE_PARAMETERS[name] ?? [];
      const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
      const value = kind === 'time' ? readers.parseTimeMs(text) : count;
      if (!field || (value === undefined && field !== 'max')) {
        report.emerg(`invalid "${directive}" parameter "${word.value}"`, word.span);
        return undefined;
      }
      rules = { ...rules, [field]: value ?? 0 };
    }
    if (rules.max > 0) return rules;
    report.emerg(`"${directive}" must have "max" parameter`, span);
    return undefined;
  },
);

/** nginx's log module. */
export const directives = directivesFor<AccessLogConfig>()({
  log_format: {
    contexts: ['http'],
    args: logFormat,
    into: 'formats',
    repeat: 'append',
    defaultText: 'combined "..."',
    summary: 'Names a format for access logs.',
    roles: defines('log format'),
    source: 'nginx ngx_http_log_module#log_format',
  },
  access_log: {
    contexts: ['http', 'server', 'location', 'location if', 'limit_except'],
    args: accessLog,
    into: 'logs',
    repeat: 'append',
    defaultText: 'logs/access.log combined where that directory exists, else off',
    summary:
      'Where requests are logged, in which format, and when. Variables in a path never lead out of the directory that is written before them.',
    roles: [...pathFrom('prefix'), ...uses('log format', { word: 1 })],
    source: 'nginx ngx_http_log_module#access_log',
  },
  open_log_file_cache: {
    contexts: ['http', 'server', 'location'],
    args: fileCache,
    into: 'fileCache',
    default: NO_CACHE,
    defaultText: 'off',
    summary: 'Which log files with variables in their path stay open between lines.',
    source: 'nginx ngx_http_log_module#open_log_file_cache',
  },
});
