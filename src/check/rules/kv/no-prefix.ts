import type { ComplexValue } from '../../../config/index.ts';
import type { LocationMatch } from '../../../contract/index.ts';
import { isOpen } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import type { ServedStore } from './settings.ts';
import { methodOf, placeOf, servedStores } from './settings.ts';

/** What a client fills with whatever it likes. */
const FREE = /^(?:arg_|http_|cookie_|args$|query_string$|request_body$|is_args$)/;
/** They begin with the path of the location. */
const PATH = /^(?:uri|document_uri|request_uri)$/;

export const kvNoPrefix: Rule = {
  id: 'GW704',
  slug: 'kv-no-prefix',
  severity: 'warning',
  summary: 'strangers choose any key of the store',
  why: 'Whatever else is kept in the store can be asked for by name: sessions, tokens, the keys of other applications.',
  fix: 'Begin the key with a text of its own: kv_key page:$1.',
  bad: {
    in: 'http',
    text: 'server { listen 80; location ~ ^/pages/(.+)$ { kv_pass 127.0.0.1:6379; kv_key $1; } }',
  },
  good: {
    in: 'http',
    text: 'server { listen 80; location ~ ^/pages/(.+)$ { kv_pass 127.0.0.1:6379; kv_key page:$1; } }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const store of servedStores(config)) {
      const { block, settings } = store;
      const asMany = settings.command === 'mget';
      if (settings.command === 'ping' || !(asMany || isFree(store))) continue;
      if (!isOpen(config, block, methodOf(settings.command))) continue;
      yield {
        at: placeOf(store, asMany ? 'command' : 'key'),
        message: asMany
          ? '"kv_command mget" gives everybody whichever keys a request names'
          : 'everybody chooses any key of the store',
        hint: asMany
          ? 'say who may ask, or give each key a location of its own'
          : 'begin "kv_key" with a text of its own: kv_key page:$1',
      };
    }
  },
};

/** A key that a request makes up from its first character on. */
function isFree({ block, settings: { key } }: ServedStore): boolean {
  const match = block.args as LocationMatch | undefined;
  const isWhole = match?.kind === 'prefix' && match.path === '/';
  if (!key) return isWhole;
  return key.parts.length > 0 && key.parts.every((part) => isChosen(part, { match, isWhole }));
}

function isChosen(
  part: ComplexValue['parts'][number],
  { match, isWhole }: { match: LocationMatch | undefined; isWhole: boolean },
): boolean {
  if (typeof part === 'string') return part === '';
  if ('capture' in part) return true;
  if (PATH.test(part.variable)) return isWhole;
  return FREE.test(part.variable) || (match?.kind === 'regex' && match.regex.names.includes(part.variable));
}
