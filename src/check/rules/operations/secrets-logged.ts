import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { variablesIn } from '../../variables.ts';

/** What gw does not mask by itself: it does mask "Authorization", "Cookie" and known parameters of queries. */
const SECRET =
  /^(?:cookie_\w*(?:session|sess|sid|token|auth|jwt)\w*|http_\w*(?:api_?key|token|secret|password)\w*|(?:sent|upstream)_http_set_cookie|request_body)$/;

export const secretsLogged: Rule = {
  id: 'GW907',
  slug: 'secrets-logged',
  severity: 'warning',
  summary: 'a log that keeps what clients prove themselves with',
  why: 'Whoever reads the log, or a copy of it, can act as the clients: sessions and tokens are as good as passwords.',
  fix: 'Log something that tells requests apart and opens nothing: $request_id.',
  bad: { in: 'http', text: `log_format who '$remote_addr $cookie_session';` },
  good: { in: 'http', text: `log_format who '$remote_addr $request_id';` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('log_format')) {
      for (const variable of new Set(variablesIn(node).filter((name) => SECRET.test(name)))) {
        const word = node.args.find(({ value }) => value.toLowerCase().includes(variable));
        yield { at: word?.span ?? node, message: `"$${variable}" may hold a secret, and is logged` };
      }
    }
  },
};
