import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { type Exchange, type Getter, isSafeHeaderName } from '../http/index.ts';

/** `canary_header name value`. */
interface CanaryHeader {
  readonly name: string;
  readonly value: ComplexValue;
}

interface CanaryConfig {
  readonly percentage?: number;
  readonly header?: CanaryHeader;
}

const CONTEXTS = ['http', 'server', 'location'] as const;

const header: ArgReader<CanaryHeader> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    if (isSafeHeaderName(name.value) && !name.value.includes('$'))
      return { name: name.value.toLowerCase(), value: scope.complexValue(value) };
    scope.report.emerg(`invalid header name "${name.value}"`, name.span);
    return undefined;
  },
);

const directives = directivesFor<CanaryConfig>()({
  canary_percentage: {
    contexts: CONTEXTS,
    args: readers.integer({ max: 100 }),
    into: 'percentage',
    defaultText: '0',
    summary:
      'The percentage of requests, chosen by chance, for which `$ngz_canary` is 1. (`split_clients` chooses clients.)',
    source: 'nginz canary#canary_percentage',
  },
  canary_header: {
    contexts: CONTEXTS,
    args: header,
    into: 'header',
    summary:
      'Requests whose header has this value, in any case, have 1 in `$ngz_canary`; `canary_percentage` decides about the others.',
    source: 'nginz canary#canary_header',
  },
});

const SUMMARY = '1 if the request is to go to the canary, else 0.';
const stable: VariableDefinition = { summary: SUMMARY, compile: () => () => '0' };

/** A few requests for a new version of a service (nginz's canary module). */
export const canary = moduleFor<CanaryConfig>()({
  name: 'canary',
  summary: 'A variable that sends a share of the requests elsewhere.',
  directives,
  variables: { ngz_canary: stable },
  enabled: ({ percentage, header: named }) => percentage !== undefined || named !== undefined,
  defines: (config) => ({
    ngz_canary: { summary: SUMMARY, live: true, compile: (build) => compileCanary(config, build) },
  }),
  compile: () => ({}),
});

function compileCanary({ percentage = 0, header: named }: CanaryConfig, build: Build): Getter {
  const isNamed = named ? compileHeader(named, build) : () => false;
  const random = build.variable('request_id');
  // The chance is that of `$request_id`, so that all readers of a request see the same result.
  const isChosen = (x: Exchange): boolean =>
    percentage > 0 && Number.parseInt((random(x) as string).slice(0, 8), 16) < (percentage / 100) * 2 ** 32;
  return (x) => (isNamed(x) || isChosen(x) ? '1' : '0');
}

function compileHeader({ name, value }: CanaryHeader, build: Build): (x: Exchange) => boolean {
  build.needHeader(name);
  const render = build.value(value);
  return (x) => {
    const wanted = render(x).toLowerCase();
    return wanted !== '' && x.header(name)?.toLowerCase() === wanted;
  };
}
