import type { Word } from '../../grammar/index.ts';
import { directivesFor, readers } from '../config/index.ts';
import { moduleFor } from '../contract/index.ts';
import { type Handler, isSafeHeaderName } from '../http/index.ts';

interface IdentityHeadersConfig {
  /** In lower case, with `-` for `_`. */
  readonly names?: readonly string[];
}

const directives = directivesFor<IdentityHeadersConfig>()({
  identity_headers: {
    contexts: ['http', 'server', 'location'],
    args: readers.words({ syntax: 'name ...', min: 1, max: Infinity }, (words, { report }) => {
      const wrong = words.find(({ value }: Word) => !isSafeHeaderName(value));
      if (wrong) report.emerg(`invalid header name "${wrong.value}"`, wrong.span);
      return wrong ? undefined : words.map(({ value }) => plain(value));
    }),
    into: 'names',
    summary:
      'Request headers by which the gateway tells upstreams who asks: what clients send under these names, also with `_` for `-`, is removed before anything reads it.',
    source: 'gw',
  },
});

/** CGI and some frameworks take `X_User` for `X-User`. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

function compileRemoval(names: ReadonlySet<string>): Handler {
  const isRemoved = (name: string | undefined): boolean => name !== undefined && names.has(plain(name));
  return (x) => {
    const { headers } = x.request;
    if (!headers.some((name, index) => index % 2 === 0 && isRemoved(name))) return;
    const kept = headers.filter((_, index) => !isRemoved(headers[index - (index % 2)]));
    x.request = { ...x.request, headers: kept };
  };
}

/** Headers that tell upstreams who asks, and that no client can send. */
export const identityHeaders = moduleFor<IdentityHeadersConfig>()({
  name: 'identity_headers',
  summary: 'Headers that tell upstreams who asks, and that no client can send.',
  directives,
  enabled: ({ names }) => names !== undefined,
  compile: ({ names = [] }) => ({ identify: compileRemoval(new Set(names)) }),
  explanation: { runs: true },
});
