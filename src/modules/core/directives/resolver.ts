import type { Word } from '../../../../grammar/index.ts';
import { type ArgReader, directivesFor, readers, type ReadScope } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { readServerAddress, type ResolverConfig } from '../../../upstream/index.ts';

const DNS_PORT = 53;
const LEVELS = ['http', 'server', 'location', 'upstream'] as const;

type Options = { -readonly [K in keyof Omit<ResolverConfig, 'servers'>]: ResolverConfig[K] };

const resolver: ArgReader<ResolverConfig> = readers.words(
  {
    syntax: 'address ... [valid=time] [ipv4=on|off] [ipv6=on|off] [status_zone=zone]',
    min: 1,
    max: Infinity,
  },
  (words, scope) => {
    const options: Options = { ipv4: true, ipv6: true };
    const servers: ServerOfNames[] = [];
    let isSound = true;
    for (const word of words) {
      const server = readOption(word, options, scope) ?? readServer(word, scope);
      if (server === 'wrong') isSound = false;
      else if (server !== 'option') servers.push(server);
    }
    if (!isSound) return undefined;
    const { report, span } = scope;
    if (!options.ipv4 && !options.ipv6) report.emerg('"ipv4" and "ipv6" cannot both be "off"', span);
    else if (servers.length === 0) report.emerg('no name servers defined', span);
    else return { servers, ...options };
    return undefined;
  },
);

type ServerOfNames = ResolverConfig['servers'][number];

/** Reads an option; `undefined` if the word is not one. */
function readOption(word: Word, options: Options, { report }: ReadScope): 'option' | 'wrong' | undefined {
  const [, name, value = ''] = /^(valid|ipv4|ipv6|status_zone)=(.*)$/s.exec(word.value) ?? [];
  if (name === undefined) return undefined;
  const isRead = name === 'status_zone' ? value !== '' : setOption(options, name as OptionName, value);
  if (isRead) return 'option';
  report.emerg(`invalid parameter: ${word.value}`, word.span);
  return 'wrong';
}

type OptionName = 'valid' | 'ipv4' | 'ipv6';

function setOption(options: Options, name: OptionName, value: string): boolean {
  if (name === 'ipv4' || name === 'ipv6') {
    options[name] = value === 'on';
    return value === 'on' || value === 'off';
  }
  const ms = readers.parseTimeMs(value);
  if (ms !== undefined) options.validMs = ms;
  return ms !== undefined;
}

function readServer(word: Word, { report }: ReadScope): ServerOfNames | 'wrong' {
  const target = readServerAddress(word.value, DNS_PORT);
  const fault = typeof target === 'string' ? target : target.kind === 'unix' ? 'invalid host' : undefined;
  if (fault === undefined) return hostAndPort(word.value);
  report.emerg(`${fault} in resolver "${word.value}"`, word.span);
  return 'wrong';
}

function hostAndPort(text: string): ServerOfNames {
  const [, host = text, port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/s.exec(text) ?? [];
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? DNS_PORT : Number(port) };
}

/** Directives for resolving names at run time. */
export const resolving = directivesFor<CoreConfig>()({
  resolver: {
    contexts: LEVELS,
    args: resolver,
    into: 'resolver',
    summary: 'Name servers for names in variables and for servers with "resolve".',
    source: 'nginx ngx_http_core_module#resolver',
  },
  resolver_timeout: {
    contexts: LEVELS,
    args: readers.time,
    into: 'resolverTimeoutMs',
    default: 30_000,
    defaultText: '30s',
    summary: 'Timeout for resolving a name.',
    source: 'nginx ngx_http_core_module#resolver_timeout',
  },
});
