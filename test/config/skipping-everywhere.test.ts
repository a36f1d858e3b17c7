import { expect, test } from 'vitest';
import { Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';
import { load } from '../../src/pipeline.ts';
import { startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { redis } from '../harness/redis.ts';
import { findForms, type Form } from '../http/variables/forms.ts';
import { locationOf, type Places } from '../http/variables/site.ts';

/*
 * Every directive that takes a variable, found through its row, with a variable that gw does not have: what is not known to
 * tell something only is closed, whoever adds the next directive.
 */

/** The only directives that are served with such a variable: logs, traces, and headers with a name of one's own (`X-A`). */
const TELLING = [
  'access_log',
  'log_format',
  'more_set_headers',
  'otel_span_attr',
  'otel_span_name',
  'otel_trace',
];

/** What makes the module of a directive act; the others do by the directive itself or by what `locationOf` puts beside it. */
const CONTENT: Readonly<Record<string, string>> = {
  dbrest: 'dbrest_pass postgres://127.0.0.1:1/x;',
  fastcgi: 'fastcgi_pass 127.0.0.1:1;',
  grpc: 'grpc_pass 127.0.0.1:1;',
  memcached: 'memcached_pass 127.0.0.1:1;',
  scgi: 'scgi_pass 127.0.0.1:1;',
  uwsgi: 'uwsgi_pass 127.0.0.1:1;',
};

/** In `http` they hold for every server, and close the locations of all other forms. */
const OF_HANDSHAKES = ['ssl_certificate', 'ssl_certificate_key'];

const FORMS = findForms().filter(({ directive }) => !OF_HANDSHAKES.includes(directive));
const registry = new Registry(MODULES);
/** Makes `$probe` a variable of a module that gw does not have. */
const MISSING = `js_set $probe http.probe; map $host $memcached_key { default x; }
  quota_zone $uri zone=quotas:1m limit=1000000/second; keyval_zone zone=keyvals:64k;
  otel_exporter { endpoint 127.0.0.1:1; }`;

test('a variable that gw does not have closes every location that takes it, in every form', async (t) => {
  const [port, { port: redisPort }] = [await freePort(), await redis()];
  const locations = FORMS.map((form, nth) => placed(form, nth, { port, redisPort }));
  const gw = await startGateway(
    t,
    `${MISSING} shared_dict_zone zone=feature_flags:1m;
    ${locations.map(({ http }) => http).join('\n')}
    server {
      listen 127.0.0.1:${port};
      location /ok { return 200 ok; }
      ${locations.map(({ location }, nth) => `location /${nth}/ { ${location} }`).join('\n')}
    }`,
    { port, main: 'compat skip;', files: { users: 'x:{PLAIN}x', 'logs/x': '' } },
  );
  const statuses = await Promise.all(FORMS.map(async (_, nth) => (await gw.fetch(`/${nth}/x`)).status));
  const served = FORMS.filter((_, nth) => statuses[nth] !== 501).map(({ directive }) => directive);
  expect([...new Set(served)].sort()).toEqual(TELLING);
  await gw.expect('GET /ok', { status: 200 });
});

for (const outer of ['http', 'server'] as const)
  test(`a variable that gw does not have closes the locations below, where ${outer} takes it`, () => {
    const inherited = FORMS.filter(
      ({ directive, context }) => context === 'location' && isIn(directive, outer),
    );
    const open = inherited.filter((form) => {
      const { location } = placed({ ...form, text: '' }, 0, { port: 1, redisPort: 1 });
      const text = form.text.replaceAll(/\bown\b/g, 'own_0');
      return skippedBelow(outer, { text, location }) === undefined;
    });
    expect(inherited.length).toBeGreaterThan(20);
    expect(open.map(({ directive }) => directive).filter((name) => !TELLING.includes(name))).toEqual([]);
  });

/** As `locationOf`, with the content of the directive's own module. */
function placed(form: Form, nth: number, places: Places): ReturnType<typeof locationOf> {
  const { http, location } = locationOf(form, nth, places);
  const content = form.directive.endsWith('_pass') ? undefined : CONTENT[form.module];
  return content === undefined ? { http, location } : { http, location: `${form.text} ${content}` };
}

function isIn(directive: string, context: 'http' | 'server'): boolean {
  return registry.named(directive).some(({ row }) => row.contexts.includes(context));
}

/** What the only location depends on, if it is not served. */
function skippedBelow(
  outer: 'http' | 'server',
  { text, location }: { readonly text: string; readonly location: string },
): string | undefined {
  const [inHttp, inServer] = outer === 'http' ? [text, ''] : ['', text];
  const { plan, report } = load({
    confFile: '/etc/gw/gw.conf',
    name: 'gw.conf',
    prefix: '/etc/gw',
    text: `compat skip; http { ${MISSING} ${inHttp} server { ${inServer} location / { ${location} } } }`,
  });
  if (!plan) throw new Error(`${text}: ${report.faults.map(({ message }) => message).join('; ')}`);
  return plan.servers[0]?.root.locations[0]?.core.skipped;
}
