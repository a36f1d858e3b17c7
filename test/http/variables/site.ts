import { variableFacts } from '../../../src/contract/index.ts';
import { MODULES } from '../../../src/modules/index.ts';
import type { Form } from './forms.ts';

/** The rest of a name of each family: `add_header x`, `add_trailer x` and the others lead back to themselves. */
const FAMILY_MEMBER = 'x';

/** Every variable of gw, by name, and those of these tests alone: circles, and one that cannot be evaluated. */
export const VARIABLES: readonly string[] = [
  ...variableFacts(MODULES).map(({ name }) => name.replace('*', FAMILY_MEMBER)),
  'probe',
  'circle',
  'huge',
];

/** `$probe` is the variable that the argument `v` names. Eight doublings of 64 characters exceed the longest string. */
export const MAPS = `
  otel_exporter { endpoint 127.0.0.1:1; }
  map_hash_bucket_size 128; quota_zone $uri zone=quotas:1m limit=1000000/second; keyval_zone zone=keyvals:64k;
  map $arg_v $probe { volatile; ${VARIABLES.map((name) => `${name} $${name};`).join(' ')} }
  map $uri $circle { volatile; default $circle_back; }
  map $uri $circle_back { volatile; default $circle; }
  map $uri $huge_0 { default ${'x'.repeat(64)}; }
  ${Array.from({ length: 8 }, (_, step) => `map $uri $huge_${step + 1} { default ${`$huge_${step}`.repeat(8)}; }`).join('\n  ')}
  map $uri $huge { volatile; default $huge_8; }`;

/** What a location needs besides the directive in order to get requests. */
export interface Places {
  readonly port: number;
  readonly redisPort: number;
}

interface Location {
  readonly http: string;
  readonly location: string;
}

/** What has to stand beside a directive; `own` names belong to the form. */
const COMPANIONS: Readonly<Record<string, string>> = {
  auth_basic: 'auth_basic_user_file users;',
  auth_basic_user_file: 'auth_basic x;',
  auth_jwt_key_file: 'auth_jwt x;',
  auth_jwt_key_request: 'auth_jwt x;',
  auth_jwt_client_certificate: 'auth_jwt x;',
  auth_jwt_require: 'auth_jwt x;',
  auth_request_set: 'auth_request /ok; add_header y $own;',
  charset: 'source_charset koi8-r;',
  error_log_tag: 'deny all;',
  feature_flag: 'add_header y $own;',
  geo: 'add_header y $own;',
  hash: 'proxy_pass http://own/ok;',
  jwt_audience: 'jwt_secret x;',
  jwt_claim: 'jwt_secret x;',
  jwt_header: 'jwt_secret x;',
  jwt_issuer: 'jwt_secret x;',
  jwt_require: 'jwt_secret x;',
  jwt_require_claim: 'jwt_secret x;',
  jwt_require_header: 'jwt_secret x;',
  keyval: 'add_header y $own;',
  limit_conn_zone: 'limit_conn own 1000;',
  limit_rate: 'limit_rate_after 1k;',
  limit_rate_after: 'limit_rate 1m;',
  limit_req_zone: 'limit_req zone=own burst=1000 nodelay;',
  log_format: 'access_log logs/x own;',
  map: 'add_header y $own;',
  quota_zone: 'quota zone=own;',
  ratelimit_cost: 'ratelimit_rate 1000;',
  ratelimit_key: 'ratelimit_rate 1000;',
  ratelimit_skip: 'ratelimit_rate 1000;',
  secure_link: 'secure_link_md5 x; add_header y $secure_link;',
  secure_link_md5: 'secure_link $arg_x,1; add_header y $secure_link;',
  set: 'add_header y $own;',
  source_charset: 'charset utf-8;',
  split_clients: 'add_header y $own;',
  sub_filter: 'sub_filter_once off;',
};

/** One location, and what it needs at the level of `http`; `nth` keeps the names of forms apart. */
export function locationOf(form: Form, nth: number, places: Places): Location {
  const own = (text: string): string => text.replaceAll(/\bown\b/g, `own_${nth}`);
  const { directive, context } = form;
  const beside = COMPANIONS[directive] ?? '';
  const content = contentOf(form, places);
  const text = own(form.text);
  const rest = own(`${beside} ${beside.includes('proxy_pass') ? '' : content}`);
  if (context === 'location') return { http: '', location: `${text} ${rest}` };
  const http =
    context === 'upstream' ? own(`upstream own { ${text} server 127.0.0.1:${places.port}; }`) : text;
  return { http, location: rest };
}

/** Directives whose text is the response. */
const ECHOES = /^echo(?!z_(?:before_body|after_body|status|header)$)/;

function contentOf({ directive, module, text }: Form, { port, redisPort }: Places): string {
  const answers = directive.endsWith('_pass') || ECHOES.test(directive) || module === 'static';
  if (answers || directive === 'alias' || directive === 'root') return '';
  if (module === 'kv') return `kv_pass 127.0.0.1:${redisPort};`;
  if (module === 'worker_events')
    return 'worker_events_api; worker_events_zone bus; worker_events_channel x;';
  // At one byte per second, the test would wait for long.
  const path = text.startsWith('proxy_limit_rate') ? 'empty' : 'ok';
  return `proxy_pass http://127.0.0.1:${port}/${path};`;
}
