import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import type { HealthConfig } from '../../contract/index.ts';
import type { MatchRule, UrlProbe } from '../../health/index.ts';
import { readServerAddress } from '../../upstream/index.ts';

/** The longest timer of Node.js. */
const MOST_MS = 2 ** 31 - 1;

/** A time of nginz: a number without a unit counts milliseconds. */
export const probeTime: ArgReader<number> = readers.oneWord('time', (word, { directive, report }) => {
  const ms = /^\d{1,15}$/.test(word.value) ? Number(word.value) : readers.parseTimeMs(word.value);
  const isPositive = directive.endsWith('_slow_start') || ms !== 0;
  if (ms !== undefined && isPositive) return Math.min(ms, MOST_MS);
  report.emerg(
    `"${directive}" directive invalid value`,
    word.span,
    'expected a time such as 5000, 500ms or 5s',
  );
  return undefined;
});

const URL = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^/?:[\]\s@]+)(?::(\d{1,5}))?(\/[\x21-\x7e]*)?$/i;

/** `http[s]://host:port/path`. */
export const probeUrl: ArgReader<UrlProbe> = readers.oneWord('URL', readUrl);

function readUrl(word: Word, { report, directive }: ReadScope): UrlProbe | undefined {
  const [, scheme = '', host = '', digits, uri = '/'] = URL.exec(word.value) ?? [];
  const isTls = scheme.toLowerCase() === 'https';
  const port = digits === undefined ? (isTls ? 443 : 80) : Number(digits);
  if (host !== '' && port >= 1 && port <= 65_535) return { url: word.value, isTls, host, port, uri };
  report.emerg(`"${directive}" directive invalid value`, word.span, 'expected http[s]://host:port/path');
  return undefined;
}

type PeerProbe = NonNullable<HealthConfig['peerProbes']>[number];

/** `address URL`. */
export const peerProbe: ArgReader<PeerProbe> = readers.words(
  { syntax: 'address URL', min: 2, max: 2 },
  (words, scope) => {
    const [peer, url] = words as [Word, Word];
    const probe = readUrl(url, scope);
    const target = readServerAddress(peer.value, 80);
    if (typeof target === 'string' || target.kind === 'name') {
      scope.report.emerg(`invalid address "${peer.value}"`, peer.span, 'expected the address of a server');
      return undefined;
    }
    const address = target.kind === 'unix' ? `unix:${target.path}` : target.address;
    return probe && { address, probe };
  },
);

/** `[status=a-b] [body=text]`. */
export const probeMatch: ArgReader<readonly MatchRule[]> = readers.words(
  { syntax: '[status=from-to] [body=text]', min: 1, max: 2 },
  (words, { report }) => {
    const rules: MatchRule[] = [];
    for (const word of words) {
      const rule = readRule(word.value);
      if (!rule) {
        report.emerg(`invalid parameter "${word.value}"`, word.span, 'expected status=200-299 or body=text');
        return undefined;
      }
      rules.push(rule);
    }
    return rules;
  },
);

function readRule(text: string): MatchRule | undefined {
  if (text.startsWith('body=') && text.length > 5) return { kind: 'body has', text: text.slice(5) };
  const [, first, last = first] = /^status=(\d{3})(?:-(\d{3}))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return from >= 100 && to >= from ? { kind: 'status', not: false, ranges: [[from, to]] } : undefined;
}
